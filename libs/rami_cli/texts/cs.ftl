# Co říká stůl v terminálu. $own je "yes", když věta mluví o tom, kdo sedí u klávesnice, jinak "no".
# Karty se vkládají tak, jak se kreslí; co se píše (s, t, on, q), je ve všech jazycích stejné.

own-name = Vy
empty-seat = (místo { $number } je volné)

## Akce, jak si je člověk vybírá.

action-draw-stock = líznout z talonu
action-draw-discard = vzít odhozenou kartu
action-meld = vyložit { $cards }
action-lay-off = přiložit { $cards } ke kombinaci { $meld }
action-discard = odhodit { $cards }

## Co se stalo.

draws = { $own ->
        [yes] Lížete z talonu
       *[no] { $name } líže z talonu
    }
draws-card = { $own ->
        [yes] Lížete { $card } z talonu
       *[no] { $name } líže { $card } z talonu
    }
takes = { $own ->
        [yes] Berete { $card } z odhozených karet
       *[no] { $name } bere { $card } z odhozených karet
    }
melds = { $own ->
        [yes] Vykládáte { $cards }
       *[no] { $name } vykládá { $cards }
    }
lays-off = { $own ->
        [yes] Přikládáte { $cards } ke kombinaci { $meld }
       *[no] { $name } přikládá { $cards } ke kombinaci { $meld }
    }
discards = { $own ->
        [yes] Odhazujete { $cards }
       *[no] { $name } odhazuje { $cards }
    }
by-autopilot = (autopilot)
by-fallback = (náhradní tah)
round-starts = { $own ->
        [yes] Kolo { $round }: každý má { $size } karet; otočena je { $card }; začínáte vy
       *[no] Kolo { $round }: každý má { $size } karet; otočena je { $card }; začíná { $name }
    }
round-ends-out = { $own ->
        [yes] Kolo { $round }: zbavili jste se karet, získané body: { $points } ({ $scores })
       *[no] Kolo { $round }: { $name } nemá žádné karty, získané body: { $points } ({ $scores })
    }
round-ends-stock = { $own ->
        [yes] Kolo { $round }: talon je prázdný, v ruce máte nejméně, získané body: { $points } ({ $scores })
       *[no] Kolo { $round }: talon je prázdný, nejméně v ruce má { $name }, získané body: { $points } ({ $scores })
    }
round-ends-limit = { $own ->
        [yes] Kolo { $round }: poslední tah je odehrán, v ruce máte nejméně, získané body: { $points } ({ $scores })
       *[no] Kolo { $round }: poslední tah je odehrán, nejméně v ruce má { $name }, získané body: { $points } ({ $scores })
    }
match-starts = Partie začíná
match-won = { $own ->
        [yes] Vyhráváte partii
       *[no] { $name } vyhrává partii
    }
match-abandoned = Partie byla přerušena
sits-down = { $own ->
        [yes] Sedáte si ke stolu
       *[no] { $name } si sedá ke stolu
    }
leaves = { $own ->
        [yes] Odcházíte od stolu
       *[no] { $name } odchází od stolu
    }
time-is-up = { $name }: čas vypršel, hraje autopilot
is-back = { $own ->
        [yes] Jste zpět
       *[no] { $name } je zpět
    }
room-gone = Místnost už není
fetched-anew = (stůl byl načten znovu)

## Stůl.

title-room = místnost { $room }, do { $points } bodů
title-turn = kolo { $round }, tah { $turn }
seats-empty = { $count ->
        [one] { $count } místo je volné
        [few] { $count } místa jsou volná
        [many] { $count } místa je volného
       *[other] { $count } míst je volných
    }
about-to-start = Partie každou chvíli začne
column-seat = místo
column-cards = karty
column-score = body
note-away = pryč: hraje bot
note-draw = líže
note-play = hraje
note-limit = { $note }, { $seconds } s na tah
note-wins = vyhrává partii
stock = Talon { $count }
discard-pile = Odhozené ({ $count }):
no-discards = (nic)
you-watch = Díváte se.
hand = Ruka
hand-points = { $points ->
        [one] { $points } bod
        [few] { $points } body
        [many] { $points } bodu
       *[other] { $points } bodů
    }
no-melds = Zatím žádné kombinace
final-standings = Konečné pořadí

## U klávesnice.

watching = Sledujete místnost { $room }.
queue-waiting = Hledá se stůl (q konec) …
sit-down = Posadit se tam? (Enter ano, q ne):
waiting-for-host = Máte místo { $number }. Partii zahájí hostitel (q konec).
match-goes-on = Některá z vašich partií pokračuje:
choose-to-go-on = Číslo pro pokračování, Enter pro jinou partii, q pro konec:
goes-on-later = V partii lze pokračovat později: rami play ji nabídne.
left-no-answer = Z { $address }, kde jste nechali partii, nepřichází odpověď.
wrong-room = číslo { $number } v seznamu není
more-rooms = { $count ->
        [one] … a { $count } další
        [few] … a { $count } další
       *[other] … a { $count } dalších
    }
matches-to-watch = Partie ke sledování:
no-matches-to-watch = Právě nikdo nehraje veřejně.
choose-match = Číslo pro sledování, Enter pro obnovení, q pro konec:
starting-table = Připravuje se stůl …
left-table = Odešli jste od stolu.
not-your-turn = Nejste na tahu.
moved-on = Stůl se změnil ({ $error }).
your-move = Váš tah (? nápověda, q konec):
waiting = Čeká se na ostatní (q konec) …
help =
    Napište číslo ze seznamu, nebo:
    s  talon · t  vzít odhozenou kartu · 7h  odhodit ji
    5h 6h 7h  vyložit tyto karty · 8h on 1  přiložit ke kombinaci 1
    10 se píše t nebo 10 · ?  tato nápověda · q  odejít a skončit
more-choices = { $count ->
        [one] … a ještě { $count }: napište karty
        [few] … a ještě { $count }: napište karty
        [many] … a ještě { $count }: napište karty
       *[other] … a ještě { $count }: napište karty
    }
end-turn = Tah ukončíte napsáním karty, kterou odhazujete, například 7h.
wrong-nothing = napište číslo, kartu, nebo ? pro nápovědu
wrong-no-list = není seznam, ze kterého by se vybíralo číslo: napište odhazovanou kartu, například 7h
wrong-number = číslo { $number } v seznamu není: napište některé z něj, nebo kartu jako 7h
wrong-words = { $words } není srozumitelné ({ $error }); ? ukáže, co je
wrong-draw-first = nejdřív lízněte: s z talonu, t odhozenou kartu
wrong-drawn = už jste lízli: vyložte, přiložte, nebo odhoďte kartu
wrong-not-held = to v ruce nemáte
wrong-no-meld = to není ani skupina, ani postupka
wrong-meld-number = kombinace { $meld } není
wrong-fit = to se ke kombinaci { $meld } nehodí
wrong-last-card = poslední karta se musí odhodit
hint = Rada:
hint-or = nebo

## Co prokázala kontrola záznamu.

verified = Záznam ověřen od závazku: { $rounds ->
        [one] { $rounds } semínko a balíček
        [few] { $rounds } semínka a balíčky
        [many] { $rounds } semínka a balíčku
       *[other] { $rounds } semínek a balíčků
    }, { $actions ->
        [one] { $actions } akce
        [few] { $actions } akce
        [many] { $actions } akce
       *[other] { $actions } akcí
    }, všechny výsledky.
verified-unchecked = Kolo { $round } se ještě hraje: jeho semínko zatím není odhaleno.
verified-no-receipt = Bez stvrzenky není ověřeno: místnost, kdo kde seděl, volby, omezení a všechny časy.
receipt-empty = Stvrzenka z partie nic neviděla: slíbené jsou jen místnost, pravidla a závazek.
receipt-whole = Je to partie, která byla vidět: { $steps ->
        [one] { $steps } krok stvrzenky, a souhlasí
        [few] { $steps } kroky stvrzenky, a všechny souhlasí
        [many] { $steps } kroku stvrzenky, a souhlasí
       *[other] { $steps } kroků stvrzenky, a všechny souhlasí
    }. Stvrzenka pokrývá verze { $versions }.
receipt-part = Souhlasí s tím, co bylo vidět, ale nebyla to celá partie: { $steps ->
        [one] { $steps } krok stvrzenky, a souhlasí
        [few] { $steps } kroky stvrzenky, a všechny souhlasí
        [many] { $steps } kroku stvrzenky, a souhlasí
       *[other] { $steps } kroků stvrzenky, a všechny souhlasí
    }. Stvrzenka pokrývá jen verze { $versions }.
receipt-late = Začátek partie neviděla: co bylo předtím a čas začátku se podle ní neověřuje.
receipt-short = Nedosahuje konce partie: nic po verzi { $version } se podle ní neověřuje.
version-span = { $first } až { $last }
version-and = { $some } a { $more }
saved = Uloženo { $replay } a { $receipt }
