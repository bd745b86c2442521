# Ce que dit la table dans le terminal. $own vaut "yes" quand la phrase parle de la personne au clavier, sinon "no".
# Les cartes sont insérées telles qu’on les dessine ; ce qu’on tape (s, t, on, q) est le même dans toutes les langues.

own-name = Vous
empty-seat = (la place { $number } est libre)

## Les actions, telles qu’on les choisit.

action-draw-stock = piocher
action-draw-discard = prendre la défausse
action-meld = poser { $cards }
action-lay-off = ajouter { $cards } à la combinaison { $meld }
action-discard = défausser { $cards }

## Ce qui s’est passé.

draws = { $own ->
        [yes] Vous piochez
       *[no] { $name } pioche
    }
draws-card = { $own ->
        [yes] Vous piochez { $card }
       *[no] { $name } pioche { $card }
    }
takes = { $own ->
        [yes] Vous prenez { $card } à la défausse
       *[no] { $name } prend { $card } à la défausse
    }
melds = { $own ->
        [yes] Vous posez { $cards }
       *[no] { $name } pose { $cards }
    }
lays-off = { $own ->
        [yes] Vous ajoutez { $cards } à la combinaison { $meld }
       *[no] { $name } ajoute { $cards } à la combinaison { $meld }
    }
discards = { $own ->
        [yes] Vous défaussez { $cards }
       *[no] { $name } défausse { $cards }
    }
by-autopilot = (pilote automatique)
by-fallback = (coup de secours)
round-starts = { $own ->
        [yes] Manche { $round } : { $size } cartes chacun ; { $card } est retournée ; vous commencez
       *[no] Manche { $round } : { $size } cartes chacun ; { $card } est retournée ; { $name } commence
    }
round-ends-out = { $own ->
        [yes] Manche { $round } : vous n’avez plus de cartes et gagnez { $points } points ({ $scores })
       *[no] Manche { $round } : { $name } n’a plus de cartes et gagne { $points } points ({ $scores })
    }
round-ends-stock = { $own ->
        [yes] Manche { $round } : la pioche est vide, vous avez la main la plus faible et gagnez { $points } points ({ $scores })
       *[no] Manche { $round } : la pioche est vide, { $name } a la main la plus faible et gagne { $points } points ({ $scores })
    }
round-ends-limit = { $own ->
        [yes] Manche { $round } : dernier tour joué, vous avez la main la plus faible et gagnez { $points } points ({ $scores })
       *[no] Manche { $round } : dernier tour joué, { $name } a la main la plus faible et gagne { $points } points ({ $scores })
    }
match-starts = La partie commence
match-won = { $own ->
        [yes] Vous gagnez la partie
       *[no] { $name } gagne la partie
    }
match-abandoned = La partie a été abandonnée
sits-down = { $own ->
        [yes] Vous prenez place
       *[no] { $name } prend place
    }
leaves = { $own ->
        [yes] Vous quittez la table
       *[no] { $name } quitte la table
    }
time-is-up = Temps écoulé pour { $name } : le pilote automatique joue
is-back = { $own ->
        [yes] Vous êtes de retour
       *[no] { $name } est de retour
    }
room-gone = La salle n’existe plus
fetched-anew = (la table a été rechargée)

## La table.

title-room = salle { $room }, en { $points } points
title-turn = manche { $round }, tour { $turn }
seats-empty = { $count ->
        [one] { $count } place libre
       *[other] { $count } places libres
    }
about-to-start = La partie va commencer
column-seat = place
column-cards = cartes
column-score = points
note-away = absent : un robot joue
note-draw = doit piocher
note-play = doit jouer
note-limit = { $note }, { $seconds } s par tour
note-wins = gagne la partie
stock = Pioche { $count }
discard-pile = Défausse ({ $count }) :
no-discards = (vide)
you-watch = Vous regardez.
hand = Main
hand-points = { $points ->
        [one] { $points } point
       *[other] { $points } points
    }
no-melds = Pas encore de combinaison
final-standings = Classement final

## Au clavier.

watching = Vous regardez la salle { $room }.
queue-waiting = Recherche d’une table (q quitter) …
sit-down = Vous asseoir là ? (Entrée oui, q non) :
waiting-for-host = Vous avez la place { $number }. L’hôte lance la partie (q quitter).
match-goes-on = Une de vos parties est en cours :
choose-to-go-on = Numéro pour continuer, Entrée pour une autre partie, q pour quitter :
goes-on-later = La partie peut continuer plus tard : rami play la propose.
left-no-answer = { $address }, où vous avez laissé une partie, ne répond pas.
wrong-room = il n’y a pas de numéro { $number } dans la liste
more-rooms = { $count ->
        [one] … et { $count } autre
       *[other] … et { $count } autres
    }
matches-to-watch = Parties à regarder :
no-matches-to-watch = Personne ne joue en public en ce moment.
choose-match = Numéro pour regarder, Entrée pour actualiser, q pour quitter :
starting-table = Préparation d’une table …
left-table = Vous avez quitté la table.
not-your-turn = Ce n’est pas votre tour.
moved-on = La table a changé ({ $error }).
your-move = Votre coup (? aide, q quitter) :
waiting = En attente des autres (q quitter) …
help =
    Tapez un numéro de la liste, ou bien :
    s  la pioche · t  prendre la défausse · 7h  défausser cette carte
    5h 6h 7h  poser ces cartes · 8h on 1  ajouter à la combinaison 1
    le 10 s’écrit t ou 10 · ?  cette aide · q  quitter et terminer
more-choices = { $count ->
        [one] … et { $count } autre : tapez ses cartes
       *[other] … et { $count } autres : tapez leurs cartes
    }
end-turn = Pour finir le tour, tapez la carte à défausser, par exemple 7h.
wrong-nothing = tapez un numéro, une carte, ou ? pour l’aide
wrong-no-list = il n’y a pas de liste où choisir un numéro : tapez la carte à défausser, par exemple 7h
wrong-number = le numéro { $number } n’est pas dans la liste : tapez-en un qui y est, ou une carte comme 7h
wrong-words = { $words } n’est pas compris ({ $error }) ; ? montre ce qui l’est
wrong-draw-first = piochez d’abord : s pour la pioche, t pour la défausse
wrong-drawn = vous avez déjà pioché : posez, ajoutez ou défaussez une carte
wrong-not-held = vous n’avez pas cela en main
wrong-no-meld = ce n’est ni un groupe ni une suite
wrong-meld-number = il n’y a pas de combinaison { $meld }
wrong-fit = cela ne va pas avec la combinaison { $meld }
wrong-last-card = la dernière carte doit être défaussée
hint = Conseil :
hint-or = ou

## Ce que la vérification de l’enregistrement a prouvé.

verified = Enregistrement vérifié depuis l’engagement : { $rounds ->
        [one] { $rounds } graine et son paquet
       *[other] { $rounds } graines et leurs paquets
    }, { $actions ->
        [one] { $actions } action
       *[other] { $actions } actions
    }, tous les résultats.
verified-unchecked = La manche { $round } est encore en cours : sa graine n’est pas encore révélée.
verified-no-receipt =
    Non vérifié sans reçu : la salle, qui était assis où, les options, les limites et toutes les heures.
receipt-empty = Le reçu n’a rien vu de la partie : seuls la salle, les règles et l’engagement sont ceux promis.
receipt-whole = C’est bien la partie qui a été vue : { $steps ->
        [one] { $steps } étape du reçu, qui concorde
       *[other] { $steps } étapes du reçu, et toutes concordent
    }. Le reçu couvre les versions { $versions }.
receipt-part = Cela concorde avec ce qui a été vu, qui n’est pas toute la partie : { $steps ->
        [one] { $steps } étape du reçu, qui concorde
       *[other] { $steps } étapes du reçu, et toutes concordent
    }. Le reçu ne couvre que les versions { $versions }.
receipt-late = Il n’a pas vu la partie commencer : ce qui précède, et l’heure de début, n’est pas comparé avec lui.
receipt-short = Il ne va pas jusqu’à la fin de la partie : rien après la version { $version } n’est comparé avec lui.
version-span = { $first } à { $last }
version-and = { $some } et { $more }
saved = Enregistrés { $replay } et { $receipt }
