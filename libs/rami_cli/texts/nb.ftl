# Det bordet sier i terminalen. $own er "yes" der setningen handler om den som sitter ved tastaturet, ellers "no".
# Kort settes inn slik de tegnes; det som tastes (s, t, on, q) er likt på alle språk.

own-name = Du
empty-seat = (plass { $number } er ledig)

## Handlinger, slik de velges.

action-draw-stock = trekk fra bunken
action-draw-discard = ta det øverste kastede kortet
action-meld = legg ned { $cards }
action-lay-off = bygg { $cards } på kombinasjon { $meld }
action-discard = kast { $cards }

## Det som har skjedd.

draws = { $own ->
        [yes] Du trekker fra bunken
       *[no] { $name } trekker fra bunken
    }
draws-card = { $own ->
        [yes] Du trekker { $card } fra bunken
       *[no] { $name } trekker { $card } fra bunken
    }
takes = { $own ->
        [yes] Du tar { $card } fra kastebunken
       *[no] { $name } tar { $card } fra kastebunken
    }
melds = { $own ->
        [yes] Du legger ned { $cards }
       *[no] { $name } legger ned { $cards }
    }
lays-off = { $own ->
        [yes] Du bygger { $cards } på kombinasjon { $meld }
       *[no] { $name } bygger { $cards } på kombinasjon { $meld }
    }
discards = { $own ->
        [yes] Du kaster { $cards }
       *[no] { $name } kaster { $cards }
    }
by-autopilot = (autopilot)
by-fallback = (nødløsning)
round-starts = { $own ->
        [yes] Runde { $round }: { $size } kort til hver; { $card } snus opp; du begynner
       *[no] Runde { $round }: { $size } kort til hver; { $card } snus opp; { $name } begynner
    }
round-ends-out = { $own ->
        [yes] Runde { $round }: du blir kvitt alle kortene og får { $points } poeng ({ $scores })
       *[no] Runde { $round }: { $name } blir kvitt alle kortene og får { $points } poeng ({ $scores })
    }
round-ends-stock = { $own ->
        [yes] Runde { $round }: bunken er tom, du sitter igjen med minst og får { $points } poeng ({ $scores })
       *[no] Runde { $round }: bunken er tom, { $name } sitter igjen med minst og får { $points } poeng ({ $scores })
    }
round-ends-limit = { $own ->
        [yes] Runde { $round }: siste tur er spilt, du sitter igjen med minst og får { $points } poeng ({ $scores })
       *[no] Runde { $round }: siste tur er spilt, { $name } sitter igjen med minst og får { $points } poeng ({ $scores })
    }
match-starts = Partiet begynner
match-won = { $own ->
        [yes] Du vinner partiet
       *[no] { $name } vinner partiet
    }
match-abandoned = Partiet ble avbrutt
sits-down = { $own ->
        [yes] Du setter deg
       *[no] { $name } setter seg
    }
leaves = { $own ->
        [yes] Du forlater bordet
       *[no] { $name } forlater bordet
    }
time-is-up = Tiden er ute for { $name }: autopiloten spiller
is-back = { $own ->
        [yes] Du er tilbake
       *[no] { $name } er tilbake
    }
room-gone = Rommet er borte
fetched-anew = (bordet ble hentet på nytt)

## Bordet.

title-room = rom { $room }, til { $points } poeng
title-turn = runde { $round }, tur { $turn }
seats-empty = { $count ->
        [one] { $count } plass er ledig
       *[other] { $count } plasser er ledige
    }
about-to-start = Partiet begynner snart
column-seat = plass
column-cards = kort
column-score = poeng
note-away = borte: en bot spiller
note-draw = skal trekke
note-play = skal spille
note-limit = { $note }, { $seconds } s per tur
note-wins = vinner partiet
stock = Bunke { $count }
discard-pile = Kastet ({ $count }):
no-discards = (ingen)
you-watch = Du ser på.
hand = Hånd
hand-points = { $points } poeng
no-melds = Ingen kombinasjoner ennå
final-standings = Sluttstilling

## Ved tastaturet.

watching = Ser på rom { $room }.
queue-waiting = Leter etter et bord (q avslutt) …
sit-down = Sette deg der? (Enter ja, q nei):
waiting-for-host = Du har plass { $number }. Verten starter kampen (q avslutt).
match-goes-on = En av kampene dine pågår:
choose-to-go-on = Nummer for å fortsette, Enter for en annen kamp, q for å avslutte:
goes-on-later = Kampen kan fortsette senere: rami play tilbyr den.
left-no-answer = Det kommer ikke noe svar fra { $address }, der du forlot en kamp.
wrong-room = det er ingen { $number } i listen
more-rooms = … og { $count } til
matches-to-watch = Kamper å se på:
no-matches-to-watch = Ingen spiller åpent akkurat nå.
choose-match = Nummer for å se på, Enter for å oppdatere, q for å avslutte:
starting-table = Gjør klart et bord …
left-table = Du har forlatt bordet.
not-your-turn = Det er ikke din tur.
moved-on = Bordet har gått videre ({ $error }).
your-move = Ditt trekk (? hjelp, q avslutt):
waiting = Venter på de andre (q avslutt) …
help =
    Skriv et nummer fra listen, eller:
    s  bunken · t  ta det kastede kortet · 7h  kast det
    5h 6h 7h  legg ned disse kortene · 8h on 1  bygg på kombinasjon 1
    10 skrives t eller 10 · ?  denne hjelpen · q  gå og avslutt
more-choices = { $count ->
        [one] … og { $count } til: skriv kortene
       *[other] … og { $count } til: skriv kortene
    }
end-turn = For å avslutte turen skriver du kortet du kaster, for eksempel 7h.
wrong-nothing = skriv et nummer, et kort, eller ? for hjelp
wrong-no-list = det er ingen liste å velge nummer fra: skriv kortet du kaster, for eksempel 7h
wrong-number = nummer { $number } står ikke på listen: skriv et som gjør det, eller et kort som 7h
wrong-words = { $words } forstås ikke ({ $error }); ? viser hva som gjør det
wrong-draw-first = trekk først: s for bunken, t for det kastede kortet
wrong-drawn = du har alt trukket: legg ned, bygg på eller kast et kort
wrong-not-held = det har du ikke på hånden
wrong-no-meld = det er verken et sett eller en sekvens
wrong-meld-number = det finnes ingen kombinasjon { $meld }
wrong-fit = det passer ikke til kombinasjon { $meld }
wrong-last-card = det siste kortet må kastes
hint = Tips:
hint-or = eller

## Det kontrollen av reprisen har vist.

verified = Reprisen er kontrollert fra forpliktelsen av: { $rounds ->
        [one] { $rounds } frø og kortstokk
       *[other] { $rounds } frø og kortstokker
    }, { $actions ->
        [one] { $actions } handling
       *[other] { $actions } handlinger
    }, alle resultater.
verified-unchecked = Runde { $round } spilles fortsatt: Frøet er ikke avslørt ennå.
verified-no-receipt =
    Ikke kontrollert uten kvittering: rommet, hvem som satt hvor, valgene, grensene og alle tidspunkter.
receipt-empty = Kvitteringen så ingenting av partiet: Bare rommet, reglene og forpliktelsen er som lovet.
receipt-whole = Det er partiet som ble sett: { $steps ->
        [one] { $steps } steg i kvitteringen, og det stemmer
       *[other] { $steps } steg i kvitteringen, og alle stemmer
    }. Kvitteringen dekker versjonene { $versions }.
receipt-part = Det stemmer med det som ble sett, som ikke er hele partiet: { $steps ->
        [one] { $steps } steg i kvitteringen, og det stemmer
       *[other] { $steps } steg i kvitteringen, og alle stemmer
    }. Kvitteringen dekker bare versjonene { $versions }.
receipt-late = Den så ikke partiet begynne: Det som kom før, og starttiden, er ikke kontrollert mot den.
receipt-short = Den når ikke slutten av partiet: Ingenting etter versjon { $version } er kontrollert mot den.
version-span = { $first } til { $last }
version-and = { $some } og { $more }
saved = Lagret { $replay } og { $receipt }
