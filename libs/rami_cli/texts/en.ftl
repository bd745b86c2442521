# What the table in the terminal says. $own is "yes" where the sentence is about the player at the keyboard, else "no".
# Cards are put in as they are drawn; what is typed (s, t, on, q) is the same in every language.

own-name = You
empty-seat = (seat { $number } is empty)

## Actions, as one chooses them.

action-draw-stock = draw from the stock
action-draw-discard = take the discard
action-meld = meld { $cards }
action-lay-off = lay off { $cards } on meld { $meld }
action-discard = discard { $cards }

## What happened.

draws = { $own ->
        [yes] You draw from the stock
       *[no] { $name } draws from the stock
    }
draws-card = { $own ->
        [yes] You draw { $card } from the stock
       *[no] { $name } draws { $card } from the stock
    }
takes = { $own ->
        [yes] You take { $card } from the discards
       *[no] { $name } takes { $card } from the discards
    }
melds = { $own ->
        [yes] You meld { $cards }
       *[no] { $name } melds { $cards }
    }
lays-off = { $own ->
        [yes] You lay off { $cards } on meld { $meld }
       *[no] { $name } lays off { $cards } on meld { $meld }
    }
discards = { $own ->
        [yes] You discard { $cards }
       *[no] { $name } discards { $cards }
    }
by-autopilot = (autopilot)
by-fallback = (fallback)
round-starts = { $own ->
        [yes] Round { $round }: { $size } cards each; { $card } is turned up; You begin
       *[no] Round { $round }: { $size } cards each; { $card } is turned up; { $name } begins
    }
round-ends-out = { $own ->
        [yes] Round { $round }: You go out and get { $points } points ({ $scores })
       *[no] Round { $round }: { $name } goes out and gets { $points } points ({ $scores })
    }
round-ends-stock = { $own ->
        [yes] Round { $round }: the stock is empty, You hold least and get { $points } points ({ $scores })
       *[no] Round { $round }: the stock is empty, { $name } holds least and gets { $points } points ({ $scores })
    }
round-ends-limit = { $own ->
        [yes] Round { $round }: the last turn is played, You hold least and get { $points } points ({ $scores })
       *[no] Round { $round }: the last turn is played, { $name } holds least and gets { $points } points ({ $scores })
    }
match-starts = The match starts
match-won = { $own ->
        [yes] You win the match
       *[no] { $name } wins the match
    }
match-abandoned = The match was abandoned
sits-down = { $own ->
        [yes] You sit down
       *[no] { $name } sits down
    }
leaves = { $own ->
        [yes] You leave the table
       *[no] { $name } leaves the table
    }
time-is-up = Time is up for { $name }: autopilot plays
is-back = { $own ->
        [yes] You are back
       *[no] { $name } is back
    }
room-gone = The room is gone
fetched-anew = (the table was fetched anew)

## The table.

title-room = room { $room }, to { $points } points
title-turn = round { $round }, turn { $turn }
seats-empty = { $count ->
        [one] { $count } seat is empty
       *[other] { $count } seats are empty
    }
about-to-start = The match is about to start
column-seat = seat
column-cards = cards
column-score = score
note-away = away: a bot plays
note-draw = to draw
note-play = to play
note-limit = { $note }, { $seconds } s a turn
note-wins = wins the match
stock = Stock { $count }
discard-pile = Discards ({ $count }):
no-discards = (none)
you-watch = You watch.
hand = Hand
hand-points = { $points ->
        [one] { $points } point
       *[other] { $points } points
    }
no-melds = No melds yet
final-standings = Final standings

## At the keyboard.

watching = Watching room { $room }.
queue-waiting = Looking for a table (q quit) …
sit-down = Sit down there? (Enter yes, q no):
waiting-for-host = You have seat { $number }. The host starts the match (q quit).
match-goes-on = A match of yours goes on:
choose-to-go-on = Number to go on, Enter for another match, q to quit:
goes-on-later = The match can go on later: rami play offers it.
left-no-answer = There is no answer from { $address }, where you have left a match.
wrong-room = there is no { $number } in the list
more-rooms = … and { $count } more
matches-to-watch = Matches to watch:
no-matches-to-watch = Nobody is playing in public right now.
choose-match = Number to watch, Enter to look again, q to quit:
starting-table = Starting a table …
left-table = You have left the table.
not-your-turn = It is not your turn.
moved-on = The table has moved on ({ $error }).
your-move = Your move (? help, q quit):
waiting = Waiting for the others (q quit) …
help =
    Type a number of the list, or in words:
    s  the stock · t  take the discard · 7h  discard it
    5h 6h 7h  meld these cards · 8h on 1  lay off on meld 1
    10 is written t or 10 · ?  this help · q  leave and end
more-choices = { $count ->
        [one] … and { $count } more: type its cards
       *[other] … and { $count } more: type their cards
    }
end-turn = To end the turn type the card to discard, such as 7h.
wrong-nothing = type a number, a card, or ? for help
wrong-no-list = there is no list to choose a number from: type the card to discard, such as 7h
wrong-number = there is no number { $number } in the list: type a number of it, or a card such as 7h
wrong-words = { $words } is not understood ({ $error }); ? shows what is
wrong-draw-first = draw first: s for the stock, t to take the discard
wrong-drawn = you have drawn already: meld, lay off, or discard a card
wrong-not-held = you do not hold that
wrong-no-meld = that is neither a set nor a run
wrong-meld-number = there is no meld { $meld }
wrong-fit = that does not fit meld { $meld }
wrong-last-card = the last card must be discarded
hint = Hint:
hint-or = or

## What a check of the replay has proved.

verified = Replay verified from the commitment on: { $rounds ->
        [one] { $rounds } seed and deck
       *[other] { $rounds } seeds and decks
    }, { $actions ->
        [one] { $actions } action
       *[other] { $actions } actions
    }, every result.
verified-unchecked = Round { $round } is still played: its seed is not revealed yet.
verified-no-receipt =
    Not checked without a receipt: the room, who sat where, the options, the guards, and all times.
receipt-empty =
    The receipt saw nothing of the match: only the room, the rules and the commitment are those promised.
receipt-whole = It is the match that was seen: { $steps ->
        [one] { $steps } step
       *[other] { $steps } steps
    } of the receipt, and all agree. The receipt covers versions { $versions }.
receipt-part = It agrees with what was seen, which is not the whole match: { $steps ->
        [one] { $steps } step
       *[other] { $steps } steps
    } of the receipt, and all agree. The receipt covers only versions { $versions }.
receipt-late =
    It did not see the match start: what came before, and the start time, is not checked against it.
receipt-short = It does not reach the end of the match: nothing after version { $version } is checked against it.
version-span = { $first } to { $last }
version-and = { $some } and { $more }
saved = Saved { $replay } and { $receipt }
