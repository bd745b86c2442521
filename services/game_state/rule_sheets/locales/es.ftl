# La hoja de reglas en español.
#
# Los números, las cartas y las opciones llegan como variables, para que el texto no se aparte del motor: aquí
# no se escribe ninguna cifra. $discard-to-win vale "on" u "off". Un salto de línea equivale a un espacio.

title = Rami: reglas del juego

## Cómo se escriben las cartas que no llevan número, y el diez.

rank-ten = 10
rank-jack = J
rank-queen = Q
rank-king = K
rank-ace = A

## Objetivo

goal-heading = Objetivo del juego
goal-aim =
    El rami es un juego de la familia del rummy para { $min-players } a { $max-players } jugadores, en el que
    cada uno juega por su cuenta. Se trata de quedarse sin cartas antes que los demás: para ello bajas
    combinaciones a la mesa –grupos de cartas del mismo valor y escaleras de un mismo palo– y añades cartas a
    las que ya están bajadas.
goal-match =
    La partida se juega por rondas. Quien gana una ronda se anota los puntos de las cartas que les quedan a
    los demás en la mano. Gana la partida el primero que, al ganar una ronda, llega a { $target-score ->
        [one] { $target-score } punto
       *[other] { $target-score } puntos
    } o más.

## Preparación

set-up-heading = Cartas, asientos y reparto
set-up-deck =
    Se usa una sola baraja francesa de { $deck-size ->
        [one] { $deck-size } carta
       *[other] { $deck-size } cartas
    }, sin comodines. De menor a mayor, los valores son { $rank-order }. Los palos son tréboles ♣, diamantes
    ♦, corazones ♥ y picas ♠.
set-up-letters =
    En esta hoja, { rank-jack } es la jota, { rank-queen } la reina, { rank-king } el rey y { rank-ace } el
    as. Los datos que intercambian los programas son iguales en todos los idiomas: { $data-ten } para el diez;
    { $data-faces } para jota, reina, rey y as; { $data-suits } para tréboles, diamantes, corazones y picas.
    Así, la carta { $letter-example } se escribe allí { $letter-example-data }.
set-up-seats =
    Los asientos se numeran desde el { $first-seat }. El turno pasa al asiento con el número siguiente y,
    después del último, vuelve al asiento { $first-seat }.
set-up-deal =
    Con la baraja mezclada, se reparten las cartas de una en una por orden de asientos, empezando por el
    asiento que abre la ronda. Si hay dos jugadores, cada uno recibe { $hand-two ->
        [one] { $hand-two } carta
       *[other] { $hand-two } cartas
    }; si hay tres o cuatro, { $hand-more ->
        [one] { $hand-more } carta
       *[other] { $hand-more } cartas
    }.
set-up-stock =
    La carta siguiente se pone boca arriba y da comienzo a la pila de descartes. Las demás quedan boca abajo y
    forman el mazo: { $stock-two ->
        [one] { $stock-two } carta
       *[other] { $stock-two } cartas
    } con dos jugadores, { $stock-three } con tres y { $stock-four } con cuatro.
set-up-start =
    La primera ronda la abre el asiento { $first-seat }; cada ronda nueva la abre el asiento siguiente.

## Turno

turn-heading = Desarrollo de un turno
turn-order = Todo turno sigue este orden: robar una carta, jugar cartas si quieres y descartarte de una.
turn-draw =
    Robar: toma exactamente una carta, ya sea la de arriba del mazo o la carta visible de arriba de la pila de
    descartes. Todos pueden consultar la pila de descartes entera, pero solo se puede tomar la de arriba.
turn-play =
    Jugar: una vez que has robado, puedes bajar combinaciones y añadir cartas a las de la mesa, tantas veces
    como quieras y en cualquier orden. También puedes no hacer ninguna de las dos cosas.
turn-discard =
    Descartarse: deja una carta de tu mano boca arriba sobre la pila de descartes. Con eso acaba tu turno. Un
    turno solo acaba sin descarte si antes acaba la ronda.
turn-return =
    La carta que has tomado de la pila de descartes puede volver a descartarse en el mismo turno. En la
    práctica, equivale a pasar.

## Acciones

legal-heading = Qué puedes y qué debes hacer
legal-set =
    Un grupo consta de { $min-meld } o { $max-set ->
        [one] { $max-set } carta
       *[other] { $max-set } cartas
    } del mismo valor, todas de palos distintos; por ejemplo, { $set-example }.
legal-run =
    Una escalera consta de { $min-meld ->
        [one] { $min-meld } carta
       *[other] { $min-meld } cartas
    } o más de un mismo palo y de valores consecutivos; por ejemplo, { $run-example }. La más larga tiene
    { $max-run ->
        [one] { $max-run } carta
       *[other] { $max-run } cartas
    }, de { $lowest-rank } a { rank-ace }.
legal-ace =
    El as solo va por encima del rey: { $ace-run } es una escalera; { $ace-below } y { $ace-around } no lo
    son. Ninguna escalera continúa más allá del as. Los puntos que cuente el as no cambian nada de esto.
legal-meld =
    Bajar: pon sobre la mesa un grupo o una escalera válidos de tu propia mano. No hace falta que bajes todo
    lo que encaja: puedes bajar { $min-meld } de las { $max-set } cartas de un valor, o solo una parte de una
    escalera larga. Las combinaciones de la ronda se numeran desde el { $first-meld } según se van bajando, y
    cada una conserva su número.
legal-lay-off =
    Añadir: agrega una o más cartas de tu mano a una sola combinación de la mesa, aunque sea de un rival. La
    combinación entera debe seguir siendo válida. Una escalera puede crecer por ambos extremos a la vez: a
    { $lay-off-run } se le pueden añadir { $lay-off-cards } de una sola vez. No hace falta haber bajado antes
    una combinación propia.
legal-table =
    Las cartas de la mesa se quedan donde están: nadie puede pasarlas a otra combinación ni recogerlas.
legal-duties =
    Antes de cualquier otra cosa debes robar, y solo se roba una vez por turno. Nunca estás obligado a bajar
    ni a añadir. Debes terminar tu turno con un descarte, salvo que la ronda acabe antes.
legal-last-card =
    { $discard-to-win ->
        [on]
            En esta sala, la última carta de la mano tiene que descartarse. No se permite bajar ni añadir
            cartas si con ello te quedas con la mano vacía.
       *[off]
            Puedes quedarte sin cartas de cualquier forma: con un descarte, bajando una combinación o
            añadiendo cartas.
    }
legal-refused =
    Lo que las reglas no permiten en ese momento se rechaza, y nada cambia.

## Puntuación

scoring-heading = Puntuación
scoring-cards =
    En la mano, las cartas numéricas valen su número. { rank-jack }, { rank-queen } y { rank-king } valen
    { $face-points ->
        [one] { $face-points } punto
       *[other] { $face-points } puntos
    } cada una, y el as vale { $ace-points ->
        [one] { $ace-points } punto
       *[other] { $ace-points } puntos
    }.
scoring-example =
    Por ejemplo, una mano con { $hand-example } suma { $hand-points ->
        [one] { $hand-points } punto
       *[other] { $hand-points } puntos
    }.
scoring-round =
    Acabe como acabe la ronda, quien la gana se anota los puntos de todas las cartas que quedan en las manos
    de los rivales. Las combinaciones sin bajar cuentan por entero. Las cartas de la mesa no cuentan para
    nadie.
scoring-others =
    El marcador de los demás no cambia, y al ganador no se le restan las cartas que aún tenga en la mano.

## Final

end-heading = Final de la ronda y de la partida
end-out =
    { $discard-to-win ->
        [on] La ronda termina en el momento en que un jugador se descarta de su última carta.
       *[off]
            La ronda termina en el momento en que un jugador se queda con la mano vacía, sea por un descarte,
            por bajar una combinación o por añadir cartas.
    } Ese jugador ha cerrado y gana la ronda.
end-stock =
    Cuando se roba la última carta del mazo, el turno sigue con normalidad. A partir de entonces, quien deba
    robar puede tomar la carta de arriba de la pila de descartes y seguir jugando, o pedir igualmente una
    carta del mazo vacío. Pedirla está permitido y termina la ronda al instante: no se mueve ninguna carta y
    el turno no cuenta como completado. La pila de descartes nunca se mezcla para formar un mazo nuevo.
end-stock-winner =
    Gana entonces la ronda el jugador cuya mano completa vale menos puntos, que puede ser el mismo que pidió
    la carta. Los grupos y escaleras que sigan en la mano cuentan por entero. En caso de empate gana el número
    de asiento más bajo, sin importar quién pidió la carta ni quién abrió la ronda.
end-match =
    Se juegan rondas hasta que el ganador de una de ellas tiene { $target-score ->
        [one] { $target-score } punto
       *[other] { $target-score } puntos
    } o más. Ese jugador gana la partida.
end-next =
    Si una ronda no decide la partida, la siguiente se reparte sin que nadie tenga que hacer nada, enseguida o
    tras una breve pausa fijada para la sala. Entre dos rondas no se puede jugar nada.

## Casos especiales

special-heading = Casos especiales y variantes que no se juegan
special-options =
    Tres cosas se eligen al crear la sala y ya no cambian: los puntos necesarios para ganar, de
    { $min-target } a { $max-target } (normalmente { $default-target }); si el as vale en la mano
    { $high-ace-points } en lugar de { $low-ace-points } (normalmente no), y si la última carta tiene que
    descartarse (normalmente no).
special-room =
    Esta hoja describe una sala en la que se juega a { $target-score ->
        [one] { $target-score } punto
       *[other] { $target-score } puntos
    }, el as vale en la mano { $ace-points ->
        [one] { $ace-points } punto
       *[other] { $ace-points } puntos
    } y la última carta { $discard-to-win ->
        [on] tiene que descartarse.
       *[off] también puede bajarse o añadirse.
    }
special-opening =
    No hay mínimo para abrir. La variante en la que lo primero que se baja debe sumar { $opening-points ->
        [one] { $opening-points } punto
       *[other] { $opening-points } puntos
    } no se juega: puedes bajar y añadir desde tu primer turno, valgan lo que valgan las cartas.
special-jokers =
    No hay comodines, así que tampoco se pueden canjear por la carta que representan ni recuperar de la mesa.
special-fixed =
    Nada de esto se puede activar: ninguna sala tiene mínimo para abrir, comodines ni escaleras con el as
    debajo del dos.
special-round-limit =
    Dos límites impiden que alguien alargue el juego sin fin; sus valores se muestran en la sala. Una ronda
    tiene como máximo { $round-turns ->
        [one] { $round-turns } turno
       *[other] { $round-turns } turnos
    }, contando juntos los de todos los jugadores; un turno se completa con su descarte. El descarte que
    completa el último termina la ronda, ya nadie roba, y el ganador se decide como cuando se agota el mazo.
    Pero si ese descarte deja la mano vacía, el jugador ha cerrado como de costumbre.
special-match-limit =
    Una partida en la que se { $match-turns ->
        [one] ha completado { $match-turns } turno
       *[other] han completado { $match-turns } turnos
    } termina con la ronda que se esté jugando en ese momento. Si esa ronda no lleva a su ganador a los puntos
    necesarios, gana la partida quien más puntos tenga y, en caso de empate, el número de asiento más bajo.
special-shuffle =
    La mezcla se puede comprobar. Antes de la partida, la sala publica un valor que compromete al servicio con
    sus números aleatorios; después, y hasta que empiece la partida, cada jugador puede aportar azar propio.
    Al acabar una ronda se revela su número secreto, y cualquiera puede recalcular la baraja y reproducir la
    ronda.

## Bots

bots-heading = Los bots
bots-sight =
    Un bot sabe lo que sabe un jugador en su asiento y nada más: su propia mano, la mesa, la pila de
    descartes, cuántas cartas hay en las otras manos y en el mazo, el marcador, las opciones y los límites de
    la sala, a quién le toca, lo que cada cual ha hecho a la vista de todos en la ronda y qué acciones están
    permitidas. Nunca ve una carta oculta, ni el orden del mazo, ni un número secreto de la mezcla.
bots-easy =
    Fácil baja y añade de inmediato todo lo que puede. Se descarta de su carta suelta más alta: es suelta la
    que no tiene en la mano otra del mismo valor ni otra de su palo a { $near-ranks ->
        [one] { $near-ranks } valor
       *[other] { $near-ranks } valores
    } de distancia o menos. La más alta es la que vale más puntos; después, la de mayor valor; después, la del
    palo posterior en el orden ♣ ♦ ♥ ♠. Si no tiene ninguna suelta, se descarta de la más alta de la mano.
bots-normal =
    Normal busca combinaciones útiles, es decir, cartas a las que solo les falta un robo para formar una
    combinación. Sopesa el riesgo de que un descarte le sirva a un rival o encaje en una combinación de la
    mesa, y de que una combinación bajada pronto permita a los demás añadir cartas.
bots-hard =
    Difícil recuerda qué cartas se han tomado, descartado y dejado pasar a la vista de todos, y busca, con una
    búsqueda limitada, la jugada que le deja en la mano menos puntos fuera de combinaciones.
bots-stall =
    Los bots no alargan el juego: el que ha robado de la pila de descartes en { $stall-turns ->
        [one] { $stall-turns } turno propio
       *[other] { $stall-turns } turnos propios seguidos
    } sin bajar ni añadir nada roba después del mazo.
bots-steady =
    Los tres son previsibles en este sentido: con la misma vista de la mesa, las mismas acciones permitidas y
    la misma semilla del bot, siempre eligen la misma acción. Esa semilla no tiene nada que ver con la mezcla.
