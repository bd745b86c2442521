# The rule sheet in English.
#
# Numbers, cards and options come in as variables, so that the text cannot differ from the engine: no figure
# is written out here. $discard-to-win is "on" or "off". A line break within a text reads as a space.

title = Rami: the rules of the game

## How players write the cards whose rank is no number, and the ten.

rank-ten = 10
rank-jack = J
rank-queen = Q
rank-king = K
rank-ace = A

## Goal

goal-heading = Goal of the game
goal-aim =
    Rami is a rummy game for { $min-players } to { $max-players } players, everyone playing for themselves.
    You try to get rid of your cards before the others do: you lay melds on the table – sets of equal rank and
    runs within one suit – and add cards to the melds that already lie there.
goal-match =
    A match is played in rounds. Whoever wins a round scores the cards left in the other players’ hands. The
    first player to win a round and thereby stand at { $target-score ->
        [one] { $target-score } point
       *[other] { $target-score } points
    } or more wins the match.

## Set-up

set-up-heading = Cards, seats and the deal
set-up-deck =
    You play with one deck of { $deck-size ->
        [one] { $deck-size } card
       *[other] { $deck-size } cards
    } and no jokers. From low to high the ranks are { $rank-order }. The suits are clubs ♣, diamonds ♦, hearts
    ♥ and spades ♠.
set-up-letters =
    On this sheet { rank-jack } stands for the jack, { rank-queen } for the queen, { rank-king } for the king
    and { rank-ace } for the ace. The data that programs exchange is the same in every language: { $data-ten }
    for the ten; { $data-faces } for jack, queen, king and ace; { $data-suits } for clubs, diamonds, hearts
    and spades. The card { $letter-example } is written { $letter-example-data } there.
set-up-seats =
    Seats are numbered from { $first-seat }. The turn passes to the seat with the next higher number, and from
    the last seat back to seat { $first-seat }.
set-up-deal =
    The shuffled deck is dealt one card at a time in seat order, beginning with the seat that starts the
    round. With two players everyone gets { $hand-two ->
        [one] { $hand-two } card
       *[other] { $hand-two } cards
    }, with three or four players { $hand-more ->
        [one] { $hand-more } card
       *[other] { $hand-more } cards
    }.
set-up-stock =
    The next card is turned face up and starts the discard pile. The rest lies face down and forms the stock:
    { $stock-two ->
        [one] { $stock-two } card
       *[other] { $stock-two } cards
    } with two players, { $stock-three } with three and { $stock-four } with four.
set-up-start =
    Seat { $first-seat } starts the first round. In every further round the next seat starts.

## Turn

turn-heading = Your turn
turn-order = A turn always runs in this order: draw a card, play cards if you want to, discard a card.
turn-draw =
    Draw: take exactly one card, either the top card of the stock or the face-up top card of the discard pile.
    The whole discard pile is open to everybody, but only its top card can be taken.
turn-play =
    Play: once you have drawn, you may lay melds and lay off cards, as often as you like and in any order. You
    may also do neither.
turn-discard =
    Discard: put one card from your hand face up on the discard pile. Your turn is then over. The only thing
    that can end a turn without a discard is the end of the round.
turn-return =
    A card you have taken from the discard pile may be discarded again in the same turn. In effect you have
    then passed.

## Legal actions

legal-heading = What you may do and what you must do
legal-set =
    A set is { $min-meld } or { $max-set ->
        [one] { $max-set } card
       *[other] { $max-set } cards
    } of the same rank, all of different suits, such as { $set-example }.
legal-run =
    A run is { $min-meld ->
        [one] { $min-meld } card
       *[other] { $min-meld } cards
    } or more of one suit in unbroken sequence, such as { $run-example }. The longest run has { $max-run ->
        [one] { $max-run } card
       *[other] { $max-run } cards
    }, from { $lowest-rank } to { rank-ace }.
legal-ace =
    The ace stands only above the king: { $ace-run } is a run, { $ace-below } and { $ace-around } are not. No
    run goes on past the ace. How many points an ace counts changes nothing about this.
legal-meld =
    Meld: lay a valid set or run from your own hand on the table. You need not lay everything that fits; you
    may lay { $min-meld } of the { $max-set } cards of a rank, or part of a long run. The melds of a round are
    numbered from { $first-meld } in the order in which they are laid, and each keeps its number.
legal-lay-off =
    Lay off: add one or more cards from your own hand to any one meld on the table, an opponent’s too. The
    whole meld must be valid afterwards. A run may grow at both ends at once: { $lay-off-cards } can be added
    to { $lay-off-run } in one go. You need not have laid a meld of your own first.
legal-table =
    Cards on the table stay where they are. Nobody may move them to another meld or take them back.
legal-duties =
    You must draw before you do anything else, and you draw only once a turn. You never have to meld or lay
    off. You must end your turn with a discard unless the round ends first.
legal-last-card =
    { $discard-to-win ->
        [on]
            In this room the last card of a hand must be discarded. A meld or a lay-off that would leave your
            hand empty is not allowed.
       *[off] Your last cards may leave your hand in any way: by a discard, a meld or a lay-off.
    }
legal-refused =
    Whatever the rules do not allow at that moment is refused, and nothing changes.

## Scoring

scoring-heading = Points
scoring-cards =
    In a hand, number cards count their number. { rank-jack }, { rank-queen } and { rank-king } count
    { $face-points ->
        [one] { $face-points } point
       *[other] { $face-points } points
    } each, and an ace counts { $ace-points ->
        [one] { $ace-points } point
       *[other] { $ace-points } points
    }.
scoring-example =
    For example, a hand of { $hand-example } is worth { $hand-points ->
        [one] { $hand-points } point
       *[other] { $hand-points } points
    }.
scoring-round =
    The winner of a round, however it ended, scores the points of all cards still in the other players’ hands.
    Melds that were not laid count in full. Cards on the table count for nobody.
scoring-others =
    Nobody else’s score changes, and cards that the winner still holds are not subtracted.

## End of the game

end-heading = How a round and the match end
end-out =
    { $discard-to-win ->
        [on] A round ends the moment a player discards their last card.
       *[off] A round ends the moment a player’s hand is empty, be it by a discard, a meld or a lay-off.
    } That player has gone out and wins the round.
end-stock =
    When the last card of the stock has been drawn, that turn goes on as usual. From then on, whoever is to
    draw may take the top card of the discard pile and play on, or still ask for a card from the empty stock.
    Asking is allowed and ends the round at once: no card moves, and the turn does not count as completed. The
    discard pile is never shuffled into a new stock.
end-stock-winner =
    The round then goes to the player whose whole hand is worth the fewest points; this may be the player who
    asked. Sets and runs still in hand count in full. Of several equal hands, the one with the lowest seat
    number wins, no matter who asked or who started the round.
end-match =
    Rounds are played until the winner of a round stands at { $target-score ->
        [one] { $target-score } point
       *[other] { $target-score } points
    } or more. That player wins the match.
end-next =
    If a round does not decide the match, the next one is dealt without anyone having to do anything, at once
    or after a short pause set for the room. Nothing can be played between two rounds.

## Special cases

special-heading = Special cases and variants that are not played
special-options =
    Three things are chosen when a room is created and never change afterwards: the target score, from
    { $min-target } to { $max-target } points (normally { $default-target }); whether an ace in a hand counts
    { $high-ace-points } instead of { $low-ace-points } (normally not); and whether the last card must be
    discarded (normally not).
special-room =
    This sheet describes a room that plays to { $target-score ->
        [one] { $target-score } point
       *[other] { $target-score } points
    }, in which an ace in a hand counts { $ace-points ->
        [one] { $ace-points } point
       *[other] { $ace-points } points
    }, and in which { $discard-to-win ->
        [on] the last card must be discarded.
       *[off] the last card may also be melded or laid off.
    }
special-opening =
    There is no opening requirement. The variant in which your first melds must be worth { $opening-points ->
        [one] { $opening-points } point
       *[other] { $opening-points } points
    } is not played: you may meld and lay off from your first turn on, whatever the cards are worth.
special-jokers =
    There are no jokers, so none can be exchanged for the card they stand for or recovered from the table.
special-fixed =
    None of this can be switched on: no room has an opening requirement, jokers, or runs with an ace below the
    two.
special-round-limit =
    Two limits keep anybody from dragging a game out for ever; their values are shown in the room. A round has
    at most { $round-turns ->
        [one] { $round-turns } turn
       *[other] { $round-turns } turns
    }, those of all players counted together; a turn is complete with its discard. The discard that completes
    the last one ends the round, nobody draws any more, and the winner is found as with an empty stock. If
    that discard empties the hand, however, its player has gone out as usual.
special-match-limit =
    A match in which { $match-turns ->
        [one] { $match-turns } turn has
       *[other] { $match-turns } turns have
    } been completed ends with the round being played at that time. If that round does not bring its winner to
    the target score, the highest score wins the match, and among equal scores the lowest seat number.
special-shuffle =
    The shuffle can be checked. Before the match, the room publishes a value that ties the service to its
    random numbers; until the match starts, every player may then add randomness of their own. When a round
    ends, its secret number is revealed, and anyone can recompute the deck and replay the round.

## Bots

bots-heading = The bots
bots-sight =
    A bot knows what a player in its seat knows and nothing more: its own hand, the table, the discard pile,
    how many cards the other hands and the stock hold, the scores, the options and limits of the room, whose
    turn it is, what everybody has done in the open during the round, and which actions are allowed. It never
    sees a hidden card, the order of the stock or a secret number of the shuffle.
bots-easy =
    Easy melds and lays off everything it can at once. It discards its highest isolated card, one whose rank
    occurs only once in its hand and that has no card of its own suit within { $near-ranks ->
        [one] { $near-ranks } rank
       *[other] { $near-ranks } ranks
    } of it there. Highest means worth the most points, then of higher rank, then of the later suit in the
    order ♣ ♦ ♥ ♠. If no card is isolated, it discards the highest of its hand.
bots-normal =
    Normal looks for useful combinations, cards that a single draw turns into a meld. It weighs the risk that
    a discard helps an opponent or fits a meld on the table, and that a meld laid early lets the others lay
    off.
bots-hard =
    Hard remembers which cards have been taken, discarded and passed over in the open, and searches within set
    limits for the play that leaves the fewest points outside melds in its hand.
bots-stall =
    Bots do not stall: a bot that has drawn from the discard pile in { $stall-turns ->
        [one] { $stall-turns } turn of its own
       *[other] { $stall-turns } of its own turns running
    } without melding or laying off draws from the stock next.
bots-steady =
    All three are predictable in this sense: faced with the same view, the same allowed actions and the same
    bot seed, a bot always chooses the same action. That seed has nothing to do with the shuffle.
