# Lo que dice la mesa en el terminal. $own es "yes" cuando la frase trata de quien está al teclado, si no "no".
# Las cartas se insertan tal como se dibujan; lo que se teclea (s, t, on, q) es igual en todos los idiomas.

own-name = Tú
empty-seat = (el asiento { $number } está libre)

## Acciones, tal como se eligen.

action-draw-stock = robar del mazo
action-draw-discard = tomar el descarte
action-meld = bajar { $cards }
action-lay-off = añadir { $cards } a la combinación { $meld }
action-discard = descartar { $cards }

## Lo que ha pasado.

draws = { $own ->
        [yes] Robas del mazo
       *[no] { $name } roba del mazo
    }
draws-card = { $own ->
        [yes] Robas { $card } del mazo
       *[no] { $name } roba { $card } del mazo
    }
takes = { $own ->
        [yes] Tomas { $card } de los descartes
       *[no] { $name } toma { $card } de los descartes
    }
melds = { $own ->
        [yes] Bajas { $cards }
       *[no] { $name } baja { $cards }
    }
lays-off = { $own ->
        [yes] Añades { $cards } a la combinación { $meld }
       *[no] { $name } añade { $cards } a la combinación { $meld }
    }
discards = { $own ->
        [yes] Descartas { $cards }
       *[no] { $name } descarta { $cards }
    }
by-autopilot = (piloto automático)
by-fallback = (jugada de emergencia)
round-starts = { $own ->
        [yes] Ronda { $round }: { $size } cartas para cada uno; se descubre { $card }; empiezas tú
       *[no] Ronda { $round }: { $size } cartas para cada uno; se descubre { $card }; empieza { $name }
    }
round-ends-out = { $own ->
        [yes] Ronda { $round }: te quedas sin cartas y ganas { $points } puntos ({ $scores })
       *[no] Ronda { $round }: { $name } se queda sin cartas y gana { $points } puntos ({ $scores })
    }
round-ends-stock = { $own ->
        [yes] Ronda { $round }: el mazo se acaba, tienes la mano más baja y ganas { $points } puntos ({ $scores })
       *[no] Ronda { $round }: el mazo se acaba, { $name } tiene la mano más baja y gana { $points } puntos ({ $scores })
    }
round-ends-limit = { $own ->
        [yes] Ronda { $round }: se juega el último turno, tienes la mano más baja y ganas { $points } puntos ({ $scores })
       *[no] Ronda { $round }: se juega el último turno, { $name } tiene la mano más baja y gana { $points } puntos ({ $scores })
    }
match-starts = Empieza la partida
match-won = { $own ->
        [yes] Ganas la partida
       *[no] { $name } gana la partida
    }
match-abandoned = La partida se ha abandonado
sits-down = { $own ->
        [yes] Te sientas
       *[no] { $name } se sienta
    }
leaves = { $own ->
        [yes] Dejas la mesa
       *[no] { $name } deja la mesa
    }
time-is-up = Se acabó el tiempo de { $name }: juega el piloto automático
is-back = { $own ->
        [yes] Has vuelto
       *[no] { $name } ha vuelto
    }
room-gone = La sala ya no existe
fetched-anew = (la mesa se ha vuelto a cargar)

## La mesa.

title-room = sala { $room }, a { $points } puntos
title-turn = ronda { $round }, turno { $turn }
seats-empty = { $count ->
        [one] { $count } asiento libre
       *[other] { $count } asientos libres
    }
about-to-start = La partida está a punto de empezar
column-seat = asiento
column-cards = cartas
column-score = puntos
note-away = ausente: juega un bot
note-draw = debe robar
note-play = debe jugar
note-limit = { $note }, { $seconds } s por turno
note-wins = gana la partida
stock = Mazo { $count }
discard-pile = Descartes ({ $count }):
no-discards = (ninguno)
you-watch = Estás mirando.
hand = Mano
hand-points = { $points ->
        [one] { $points } punto
       *[other] { $points } puntos
    }
no-melds = Aún no hay combinaciones
final-standings = Clasificación final

## Al teclado.

watching = Mirando la sala { $room }.
queue-waiting = Buscando una mesa (q salir) …
sit-down = ¿Te sientas ahí? (Intro sí, q no):
waiting-for-host = Tienes el asiento { $number }. El anfitrión empieza la partida (q salir).
match-goes-on = Tienes una partida en curso:
choose-to-go-on = Número para seguir, Intro para otra partida, q para salir:
goes-on-later = La partida puede seguir más tarde: rami play la ofrece.
left-no-answer = No responde { $address }, donde dejaste una partida.
wrong-room = no hay ningún { $number } en la lista
more-rooms = … y { $count } más
matches-to-watch = Partidas que se pueden mirar:
no-matches-to-watch = Nadie juega en público ahora mismo.
choose-match = Número para mirar, Intro para actualizar, q para salir:
starting-table = Preparando una mesa …
left-table = Has dejado la mesa.
not-your-turn = No es tu turno.
moved-on = La mesa ha cambiado ({ $error }).
your-move = Tu jugada (? ayuda, q salir):
waiting = Esperando a los demás (q salir) …
help =
    Escribe un número de la lista, o bien:
    s  el mazo · t  tomar el descarte · 7h  descartarla
    5h 6h 7h  bajar estas cartas · 8h on 1  añadir a la combinación 1
    el 10 se escribe t o 10 · ?  esta ayuda · q  salir y terminar
more-choices = { $count ->
        [one] … y { $count } más: escribe sus cartas
       *[other] … y { $count } más: escribe sus cartas
    }
end-turn = Para acabar el turno escribe la carta que descartas, por ejemplo 7h.
wrong-nothing = escribe un número, una carta, o ? para la ayuda
wrong-no-list = no hay lista de la que elegir un número: escribe la carta que descartas, por ejemplo 7h
wrong-number = no hay un número { $number } en la lista: escribe uno de ella, o una carta como 7h
wrong-words = no se entiende { $words } ({ $error }); ? muestra lo que se entiende
wrong-draw-first = roba primero: s para el mazo, t para tomar el descarte
wrong-drawn = ya has robado: baja, añade o descarta una carta
wrong-not-held = no tienes eso
wrong-no-meld = eso no es ni un grupo ni una escalera
wrong-meld-number = no hay una combinación { $meld }
wrong-fit = eso no encaja en la combinación { $meld }
wrong-last-card = la última carta se tiene que descartar
hint = Consejo:
hint-or = o

## Lo que ha demostrado la comprobación de la repetición.

verified = Repetición comprobada desde el compromiso: { $rounds ->
        [one] { $rounds } semilla y baraja
       *[other] { $rounds } semillas y barajas
    }, { $actions ->
        [one] { $actions } acción
       *[other] { $actions } acciones
    }, todos los resultados.
verified-unchecked = La ronda { $round } aún se juega: su semilla todavía no se ha revelado.
verified-no-receipt =
    Sin recibo no se comprueba: la sala, quién se sentó dónde, las opciones, los límites y todas las horas.
receipt-empty = El recibo no vio nada de la partida: solo la sala, las reglas y el compromiso son los prometidos.
receipt-whole = Es la partida que se vio: { $steps ->
        [one] { $steps } paso del recibo, que coincide
       *[other] { $steps } pasos del recibo, y todos coinciden
    }. El recibo abarca las versiones { $versions }.
receipt-part = Coincide con lo que se vio, que no es toda la partida: { $steps ->
        [one] { $steps } paso del recibo, que coincide
       *[other] { $steps } pasos del recibo, y todos coinciden
    }. El recibo abarca solo las versiones { $versions }.
receipt-late = No vio empezar la partida: lo anterior, y la hora de inicio, no se comprueban con él.
receipt-short = No llega al final de la partida: nada posterior a la versión { $version } se comprueba con él.
version-span = { $first } a { $last }
version-and = { $some } y { $more }
saved = Guardados { $replay } y { $receipt }
