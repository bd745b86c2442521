# La feuille de règles en français.
#
# Nombres, cartes et options arrivent par des variables, pour que le texte ne puisse pas s’écarter du moteur :
# aucun nombre n’est écrit ici. $discard-to-win vaut "on" ou "off". Un retour à la ligne se lit comme une
# espace ; les espaces avant « : ; » et dans les guillemets sont insécables.

title = Rami : les règles du jeu

## Comment s’écrivent le dix et les cartes sans nombre.

rank-ten = 10
rank-jack = V
rank-queen = D
rank-king = R
rank-ace = As

## But

goal-heading = But du jeu
goal-aim =
    Le rami se joue de { $min-players } à { $max-players } joueurs, chacun pour soi. Il s’agit de se
    débarrasser de ses cartes avant les autres : on pose sur la table des combinaisons – groupes de cartes de
    même valeur et suites dans une même couleur – et on complète celles qui s’y trouvent déjà.
goal-match =
    Une partie se joue en plusieurs manches. Le gagnant d’une manche marque les points des cartes restées en
    main chez les autres. Le premier joueur qui, en gagnant une manche, atteint ou dépasse { $target-score ->
        [one] { $target-score } point
       *[other] { $target-score } points
    } gagne la partie.

## Préparation

set-up-heading = Cartes, places et distribution
set-up-deck =
    On joue avec un seul jeu de { $deck-size ->
        [one] { $deck-size } carte
       *[other] { $deck-size } cartes
    }, sans joker. De la plus basse à la plus haute, les valeurs sont { $rank-order }. Les couleurs sont
    trèfle ♣, carreau ♦, cœur ♥ et pique ♠.
set-up-letters =
    Ici, { rank-jack } désigne le valet, { rank-queen } la dame, { rank-king } le roi et { rank-ace } l’as.
    Les données qu’échangent les programmes sont les mêmes dans toutes les langues : { $data-ten } pour le
    dix ; { $data-faces } pour valet, dame, roi et as ; { $data-suits } pour trèfle, carreau, cœur et pique.
    La carte { $letter-example } s’y écrit { $letter-example-data }.
set-up-seats =
    Les places sont numérotées à partir de { $first-seat }. Le tour passe à la place portant le numéro suivant
    et, après la dernière, revient à la place { $first-seat }.
set-up-deal =
    Une fois le jeu mélangé, les cartes sont distribuées une à une dans l’ordre des places, en commençant par
    celle qui ouvre la manche. À deux joueurs, chacun reçoit { $hand-two ->
        [one] { $hand-two } carte
       *[other] { $hand-two } cartes
    } ; à trois ou quatre, { $hand-more ->
        [one] { $hand-more } carte
       *[other] { $hand-more } cartes
    }.
set-up-stock =
    La carte suivante est retournée face visible et commence la défausse. Les autres restent face cachée et
    forment la pioche : { $stock-two ->
        [one] { $stock-two } carte
       *[other] { $stock-two } cartes
    } à deux joueurs, { $stock-three } à trois et { $stock-four } à quatre.
set-up-start =
    La place { $first-seat } ouvre la première manche. À chaque nouvelle manche, c’est la place suivante qui
    ouvre.

## Tour

turn-heading = Déroulement d’un tour
turn-order =
    Un tour se déroule toujours dans cet ordre : prendre une carte, jouer des cartes si on le souhaite, puis
    se défausser d’une carte.
turn-draw =
    Prendre : vous prenez exactement une carte, soit celle du dessus de la pioche, soit la carte visible au
    sommet de la défausse. Toute la défausse peut être consultée par tous, mais seule la carte du sommet peut
    être prise.
turn-play =
    Jouer : une fois votre carte prise, vous pouvez poser des combinaisons et compléter celles de la table,
    aussi souvent que vous voulez et dans n’importe quel ordre. Vous pouvez aussi ne rien faire de tout cela.
turn-discard =
    Se défausser : vous mettez une carte de votre main, face visible, sur la défausse. Votre tour est alors
    terminé. Seule la fin de la manche peut mettre fin à un tour sans défausse.
turn-return =
    Une carte prise dans la défausse peut y être remise au même tour. Cela revient à passer.

## Actions permises

legal-heading = Ce que vous pouvez et devez faire
legal-set =
    Un groupe se compose de { $min-meld } ou { $max-set ->
        [one] { $max-set } carte
       *[other] { $max-set } cartes
    } de même valeur, toutes de couleurs différentes, par exemple { $set-example }.
legal-run =
    Une suite se compose d’au moins { $min-meld ->
        [one] { $min-meld } carte
       *[other] { $min-meld } cartes
    } consécutives d’une même couleur, par exemple { $run-example }. La plus longue compte { $max-run ->
        [one] { $max-run } carte
       *[other] { $max-run } cartes
    }, du { $lowest-rank } à l’{ rank-ace }.
legal-ace =
    L’as ne se place qu’au-dessus du roi : { $ace-run } est une suite, mais ni { $ace-below } ni
    { $ace-around } n’en sont. Aucune suite ne continue au-delà de l’as. Le nombre de points que compte l’as
    n’y change rien.
legal-meld =
    Poser : vous étalez sur la table un groupe ou une suite valable pris dans votre main. Rien ne vous oblige
    à poser tout ce qui va ensemble : vous pouvez poser { $min-meld } des { $max-set } cartes d’une valeur, ou
    une partie d’une longue suite. Les combinaisons d’une manche sont numérotées à partir de { $first-meld }
    dans l’ordre où elles sont posées, et chacune garde son numéro.
legal-lay-off =
    Compléter : vous ajoutez une ou plusieurs cartes de votre main à une seule combinaison de la table, y
    compris celle d’un adversaire. La combinaison entière doit rester valable. Une suite peut s’allonger des
    deux côtés à la fois : à { $lay-off-run }, on peut ajouter { $lay-off-cards } d’un seul coup. Il n’est pas
    nécessaire d’avoir déjà posé une combinaison soi-même.
legal-table =
    Les cartes de la table restent où elles sont : personne ne peut les déplacer vers une autre combinaison ni
    les reprendre.
legal-duties =
    Avant toute autre chose, vous devez prendre une carte, et vous n’en prenez qu’une par tour. Vous n’êtes
    jamais obligé de poser ni de compléter. Vous devez finir votre tour en vous défaussant d’une carte, à
    moins que la manche ne se termine avant.
legal-last-card =
    { $discard-to-win ->
        [on]
            Dans ce salon, la dernière carte de la main doit être défaussée. Il est interdit de poser ou de
            compléter une combinaison si votre main se retrouve vide.
       *[off]
            Vos dernières cartes peuvent quitter votre main de toutes les manières : en vous défaussant, en
            posant une combinaison ou en en complétant une.
    }
legal-refused =
    Ce que les règles ne permettent pas à ce moment-là est refusé, et rien ne change.

## Points

scoring-heading = Décompte des points
scoring-cards =
    En main, les cartes numérales comptent pour leur nombre. { rank-jack }, { rank-queen } et { rank-king }
    comptent { $face-points ->
        [one] { $face-points } point
       *[other] { $face-points } points
    } chacun, et l’as compte { $ace-points ->
        [one] { $ace-points } point
       *[other] { $ace-points } points
    }.
scoring-example =
    Par exemple, { $hand-example } en main valent ensemble { $hand-points ->
        [one] { $hand-points } point
       *[other] { $hand-points } points
    }.
scoring-round =
    Quelle que soit la façon dont la manche s’est terminée, son gagnant marque les points de toutes les cartes
    restées en main chez les autres. Les combinaisons non posées comptent en entier. Les cartes de la table ne
    comptent pour personne.
scoring-others =
    Le score des autres joueurs ne change pas, et les cartes que le gagnant a encore en main ne sont pas
    déduites.

## Fin

end-heading = Fin d’une manche et de la partie
end-out =
    { $discard-to-win ->
        [on] La manche se termine à l’instant où un joueur se défausse de sa dernière carte.
       *[off]
            La manche se termine à l’instant où un joueur n’a plus de carte en main, qu’il se soit défaussé,
            ait posé une combinaison ou en ait complété une.
    } Ce joueur a terminé et gagne la manche.
end-stock =
    Quand la dernière carte de la pioche a été prise, le tour continue normalement. Ensuite, le joueur qui
    doit prendre une carte peut prendre celle du sommet de la défausse et continuer à jouer, ou demander quand
    même une carte à la pioche vide. C’est permis et cela termine aussitôt la manche : aucune carte ne bouge,
    et le tour ne compte pas comme achevé. La défausse n’est jamais mélangée pour refaire une pioche.
end-stock-winner =
    La manche revient alors au joueur dont la main entière vaut le moins de points, qui peut être celui qui a
    demandé la carte. Les groupes et les suites encore en main comptent en entier. En cas d’égalité, c’est le
    plus petit numéro de place qui gagne, peu importe qui a demandé la carte ou ouvert la manche.
end-match =
    On joue des manches jusqu’à ce que le gagnant de l’une d’elles ait { $target-score ->
        [one] { $target-score } point
       *[other] { $target-score } points
    } ou plus. Ce joueur gagne la partie.
end-next =
    Si une manche ne décide pas de la partie, la suivante est distribuée sans que personne ait rien à faire,
    aussitôt ou après une courte pause fixée pour le salon. Entre deux manches, aucune action n’est possible.

## Cas particuliers

special-heading = Cas particuliers et variantes non jouées
special-options =
    Trois choses se choisissent à la création du salon et ne changent plus ensuite : le score à atteindre, de
    { $min-target } à { $max-target } points (normalement { $default-target }) ; si l’as en main compte
    { $high-ace-points } au lieu de { $low-ace-points } (normalement non) ; s’il faut se défausser de la
    dernière carte (normalement non).
special-room =
    Cette feuille décrit un salon où l’on joue en { $target-score ->
        [one] { $target-score } point
       *[other] { $target-score } points
    }, où l’as en main compte { $ace-points ->
        [one] { $ace-points } point
       *[other] { $ace-points } points
    } et où la dernière carte { $discard-to-win ->
        [on] doit être défaussée.
       *[off] peut aussi être posée ou servir à compléter une combinaison.
    }
special-opening =
    Il n’y a pas de minimum pour ouvrir. La variante où la première pose doit valoir { $opening-points ->
        [one] { $opening-points } point
       *[other] { $opening-points } points
    } ne se joue pas : vous pouvez poser et compléter dès votre premier tour, quelle que soit la valeur des
    cartes.
special-jokers =
    Il n’y a pas de jokers, et donc aucun à échanger contre la carte qu’il remplace ni à récupérer sur la
    table.
special-fixed =
    Rien de tout cela ne peut être activé : aucun salon ne connaît de minimum d’ouverture, de jokers ni de
    suites où l’as passe sous le deux.
special-round-limit =
    Deux limites empêchent de faire durer le jeu sans fin ; leurs valeurs sont indiquées dans le salon. Une
    manche compte au plus { $round-turns ->
        [one] { $round-turns } tour
       *[other] { $round-turns } tours
    }, ceux de tous les joueurs additionnés ; un tour est achevé par sa défausse. La défausse qui achève le
    dernier termine la manche, plus personne ne prend de carte, et le gagnant est désigné comme lorsque la
    pioche est vide. Mais si cette défausse vide la main, son joueur a terminé et gagne la manche comme
    d’habitude.
special-match-limit =
    Une partie où { $match-turns ->
        [one] { $match-turns } tour a été achevé
       *[other] { $match-turns } tours ont été achevés
    } se termine avec la manche en cours à ce moment-là. Si le gagnant de cette manche n’atteint pas le score
    fixé, c’est le plus haut score qui gagne la partie et, en cas d’égalité, le plus petit numéro de place.
special-shuffle =
    Le mélange est vérifiable. Avant la partie, le salon publie une valeur qui lie le service à ses nombres
    aléatoires ; ensuite, et jusqu’au début de la partie, chaque joueur peut apporter sa propre part de
    hasard. À la fin d’une manche, son nombre secret est révélé, et chacun peut recalculer l’ordre du jeu et
    rejouer la manche.

## Bots

bots-heading = Les bots
bots-sight =
    Un bot sait ce que sait un joueur assis à sa place, et rien de plus : sa propre main, la table, la
    défausse, le nombre de cartes des autres mains et de la pioche, les scores, les options et les limites du
    salon, à qui c’est le tour, ce que chacun a fait au vu de tous pendant la manche et les actions permises.
    Il ne voit jamais une carte cachée, l’ordre de la pioche ni un nombre secret du mélange.
bots-easy =
    Facile pose et complète aussitôt tout ce qu’il peut. Il se défausse de sa carte isolée la plus haute : une
    carte est isolée si sa main n’en contient aucune autre de même valeur, ni aucune de la même couleur à
    { $near-ranks ->
        [one] { $near-ranks } rang
       *[other] { $near-ranks } rangs
    } d’écart ou moins. La plus haute est celle qui compte le plus de points, puis celle de plus haute valeur,
    puis celle dont la couleur vient le plus tard dans l’ordre ♣ ♦ ♥ ♠. Si aucune carte n’est isolée, il se
    défausse de la plus haute de sa main.
bots-normal =
    Normal cherche les combinaisons utiles, c’est-à-dire des cartes auxquelles il ne manque qu’une carte à
    prendre. Il pèse le risque qu’une défausse serve à un adversaire ou complète une combinaison de la table,
    et celui qu’une combinaison posée tôt permette aux autres de la compléter.
bots-hard =
    Difficile se souvient des cartes prises, défaussées et laissées au vu de tous, et cherche, dans des
    limites fixées, le coup qui lui laisse en main le moins de points hors combinaisons.
bots-stall =
    Les bots ne font pas traîner le jeu : celui qui a pris dans la défausse lors de { $stall-turns ->
        [one] { $stall-turns } de ses tours
       *[other] { $stall-turns } de ses tours consécutifs
    } sans poser ni compléter prend ensuite dans la pioche.
bots-steady =
    Tous trois sont prévisibles en ce sens : devant la même vue du jeu, les mêmes actions permises et la même
    graine de bot, un bot choisit toujours la même action. Cette graine n’a aucun lien avec le mélange.
