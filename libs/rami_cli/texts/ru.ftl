# Что говорит стол в терминале. $own равно "yes", когда речь о том, кто за клавиатурой, иначе "no".
# Карты вставляются так, как рисуются; что печатают (s, t, on, q), одинаково на всех языках.

own-name = Вы
empty-seat = (место { $number } свободно)

## Действия, как их выбирают.

action-draw-stock = взять из колоды
action-draw-discard = взять из сброса
action-meld = выложить { $cards }
action-lay-off = приложить { $cards } к комбинации { $meld }
action-discard = сбросить { $cards }

## Что произошло.

draws = { $own ->
        [yes] Вы берёте карту из колоды
       *[no] { $name } берёт карту из колоды
    }
draws-card = { $own ->
        [yes] Вы берёте { $card } из колоды
       *[no] { $name } берёт { $card } из колоды
    }
takes = { $own ->
        [yes] Вы берёте { $card } из сброса
       *[no] { $name } берёт { $card } из сброса
    }
melds = { $own ->
        [yes] Вы выкладываете { $cards }
       *[no] { $name } выкладывает { $cards }
    }
lays-off = { $own ->
        [yes] Вы прикладываете { $cards } к комбинации { $meld }
       *[no] { $name } прикладывает { $cards } к комбинации { $meld }
    }
discards = { $own ->
        [yes] Вы сбрасываете { $cards }
       *[no] { $name } сбрасывает { $cards }
    }
by-autopilot = (автопилот)
by-fallback = (запасной ход)
round-starts = { $own ->
        [yes] Раунд { $round }: карт у каждого — { $size }; открыта { $card }; вы начинаете
       *[no] Раунд { $round }: карт у каждого — { $size }; открыта { $card }; начинает { $name }
    }
round-ends-out = { $own ->
        [yes] Раунд { $round }: у вас не осталось карт, ваши очки: { $points } ({ $scores })
       *[no] Раунд { $round }: { $name } остаётся без карт и получает очки: { $points } ({ $scores })
    }
round-ends-stock = { $own ->
        [yes] Раунд { $round }: колода пуста, на руках у вас меньше всех, ваши очки: { $points } ({ $scores })
       *[no] Раунд { $round }: колода пуста, меньше всех на руках имеет { $name } и получает очки: { $points } ({ $scores })
    }
round-ends-limit = { $own ->
        [yes] Раунд { $round }: сыгран последний ход, на руках у вас меньше всех, ваши очки: { $points } ({ $scores })
       *[no] Раунд { $round }: сыгран последний ход, меньше всех на руках имеет { $name } и получает очки: { $points } ({ $scores })
    }
match-starts = Партия начинается
match-won = { $own ->
        [yes] Вы выигрываете партию
       *[no] { $name } выигрывает партию
    }
match-abandoned = Партия прервана
sits-down = { $own ->
        [yes] Вы садитесь за стол
       *[no] { $name } садится за стол
    }
leaves = { $own ->
        [yes] Вы покидаете стол
       *[no] { $name } покидает стол
    }
time-is-up = Время вышло, за место «{ $name }» играет автопилот
is-back = { $own ->
        [yes] Вы снова за столом
       *[no] { $name } снова за столом
    }
room-gone = Комнаты больше нет
fetched-anew = (стол загружен заново)

## Стол.

title-room = комната { $room }, до { $points } очков
title-turn = раунд { $round }, ход { $turn }
seats-empty = { $count ->
        [one] { $count } место свободно
        [few] { $count } места свободны
       *[many] { $count } мест свободно
    }
about-to-start = Партия вот-вот начнётся
column-seat = место
column-cards = карты
column-score = очки
note-away = отсутствует: играет бот
note-draw = берёт карту
note-play = ходит
note-limit = { $note }, { $seconds } с на ход
note-wins = выигрывает партию
stock = Колода { $count }
discard-pile = Сброс ({ $count }):
no-discards = (пусто)
you-watch = Вы смотрите.
hand = Рука
hand-points = { $points ->
        [one] { $points } очко
        [few] { $points } очка
       *[many] { $points } очков
    }
no-melds = Комбинаций пока нет
final-standings = Итог

## За клавиатурой.

watching = Просмотр комнаты { $room }.
queue-waiting = Ищем стол (q выход) …
sit-down = Сесть за этот стол? (Enter да, q нет):
waiting-for-host = Ваше место — { $number }. Партию начнёт хозяин (q выход).
match-goes-on = Одна из ваших партий продолжается:
choose-to-go-on = Номер — продолжить, Enter — другая партия, q — выход:
goes-on-later = Партию можно продолжить позже: её предложит rami play.
left-no-answer = Нет ответа от { $address }, где вы оставили партию.
wrong-room = в списке нет номера { $number }
more-rooms = … и ещё { $count }
matches-to-watch = Партии, которые можно смотреть:
no-matches-to-watch = Сейчас никто не играет открыто.
choose-match = Номер — смотреть, Enter — обновить, q — выход:
starting-table = Готовим стол …
left-table = Вы покинули стол.
not-your-turn = Сейчас не ваш ход.
moved-on = Стол изменился ({ $error }).
your-move = Ваш ход (? помощь, q выход):
waiting = Ждём остальных (q выход) …
help =
    Введите номер из списка или:
    s  колода · t  взять из сброса · 7h  сбросить эту карту
    5h 6h 7h  выложить эти карты · 8h on 1  приложить к комбинации 1
    10 пишется t или 10 · ?  эта помощь · q  выйти и закончить
more-choices = { $count ->
        [one] … и ещё { $count }: введите карты
        [few] … и ещё { $count }: введите карты
       *[many] … и ещё { $count }: введите карты
    }
end-turn = Чтобы закончить ход, введите карту для сброса, например 7h.
wrong-nothing = введите номер, карту или ? для помощи
wrong-no-list = списка, из которого выбирают номер, нет: введите карту для сброса, например 7h
wrong-number = номера { $number } в списке нет: введите номер из него или карту, например 7h
wrong-words = непонятно: { $words } ({ $error }); ? покажет, что можно ввести
wrong-draw-first = сначала возьмите карту: s — из колоды, t — из сброса
wrong-drawn = вы уже взяли карту: выложите, приложите или сбросьте
wrong-not-held = этого у вас на руках нет
wrong-no-meld = это не группа и не последовательность
wrong-meld-number = комбинации { $meld } нет
wrong-fit = это не подходит к комбинации { $meld }
wrong-last-card = последнюю карту нужно сбросить
hint = Подсказка:
hint-or = или

## Что показала проверка записи.

verified = Запись проверена, начиная с обязательства: { $rounds ->
        [one] { $rounds } зерно и колода
        [few] { $rounds } зерна и колоды
       *[many] { $rounds } зёрен и колод
    }, { $actions ->
        [one] { $actions } действие
        [few] { $actions } действия
       *[many] { $actions } действий
    }, все результаты.
verified-unchecked = Раунд { $round } ещё идёт: его зерно пока не раскрыто.
verified-no-receipt = Без квитанции не проверены: комната, кто где сидел, настройки, ограничения и всё время.
receipt-empty = Квитанция ничего не видела от партии: обещанными оказались лишь комната, правила и обязательство.
receipt-whole = Это та самая партия: { $steps ->
        [one] { $steps } шаг квитанции, и он совпадает
        [few] { $steps } шага квитанции, и все совпадают
       *[many] { $steps } шагов квитанции, и все совпадают
    }. Квитанция охватывает версии { $versions }.
receipt-part = Это совпадает с увиденным, но то была не вся партия: { $steps ->
        [one] { $steps } шаг квитанции, и он совпадает
        [few] { $steps } шага квитанции, и все совпадают
       *[many] { $steps } шагов квитанции, и все совпадают
    }. Квитанция охватывает только версии { $versions }.
receipt-late = Начала партии она не видела: что было раньше и время начала по ней не проверены.
receipt-short = До конца партии она не доходит: всё после версии { $version } по ней не проверено.
version-span = с { $first } по { $last }
version-and = { $some } и { $more }
saved = Сохранены { $replay } и { $receipt }
