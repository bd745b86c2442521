# Pravidla hry v češtině.
#
# Čísla, karty a volby přicházejí jako proměnné, aby se text nemohl rozejít s herním jádrem: žádné číslo zde
# není vypsáno. $discard-to-win je "on" nebo "off". Konec řádku uvnitř textu se čte jako mezera.

title = Rami: pravidla hry

## Jak se píše desítka a karty bez čísla.

rank-ten = 10
rank-jack = J
rank-queen = Q
rank-king = K
rank-ace = A

## Cíl

goal-heading = Cíl hry
goal-aim =
    Rami je karetní hra příbuzná žolíkům pro { $min-players } až { $max-players ->
        [one] { $max-players } hráče
        [few] { $max-players } hráče
       *[other] { $max-players } hráčů
    }, v níž hraje každý sám za sebe. Snažíte se zbavit karet dříve než ostatní: vykládáte na stůl kombinace –
    skupiny karet stejné hodnoty a postupky v jedné barvě – a přikládáte ke kombinacím, které už tam leží.
goal-match =
    Partie se hraje na kola. Kdo vyhraje kolo, získá body za karty, které ostatním zůstaly v ruce. Partii
    vyhraje ten, kdo jako první vyhraje kolo a má po něm alespoň { $target-score ->
        [one] { $target-score } bod
        [few] { $target-score } body
       *[other] { $target-score } bodů
    }.

## Příprava

set-up-heading = Karty, místa a rozdávání
set-up-deck =
    Hraje se s jedním balíčkem bez žolíků, který má { $deck-size ->
        [one] { $deck-size } kartu
        [few] { $deck-size } karty
       *[other] { $deck-size } karet
    }. Hodnoty od nejnižší po nejvyšší jsou { $rank-order }. Barvy jsou kříže ♣, kára ♦, srdce ♥ a piky ♠.
set-up-letters =
    Zde { rank-jack } znamená kluka, { rank-queen } dámu, { rank-king } krále a { rank-ace } eso. Data, která
    si vyměňují programy, jsou ve všech jazycích stejná: { $data-ten } pro desítku; { $data-faces } pro kluka,
    dámu, krále a eso; { $data-suits } pro kříže, kára, srdce a piky. Karta { $letter-example } se v nich
    zapisuje { $letter-example-data }.
set-up-seats =
    Místa se číslují od { $first-seat }. Tah přechází na místo s dalším číslem a z posledního zpět na místo
    { $first-seat }.
set-up-deal =
    Zamíchaný balíček se rozdává po jedné kartě v pořadí míst, počínaje místem, které začíná kolo. Ve dvou
    hráčích dostane každý { $hand-two ->
        [one] { $hand-two } kartu
        [few] { $hand-two } karty
       *[other] { $hand-two } karet
    }, ve třech nebo čtyřech { $hand-more ->
        [one] { $hand-more } kartu
        [few] { $hand-more } karty
       *[other] { $hand-more } karet
    }.
set-up-stock =
    Další karta se otočí lícem nahoru a založí odhazovací balíček. Zbytek leží lícem dolů a tvoří talon:
    { $stock-two ->
        [one] { $stock-two } karta
        [few] { $stock-two } karty
       *[other] { $stock-two } karet
    } ve dvou hráčích, { $stock-three } ve třech a { $stock-four } ve čtyřech.
set-up-start =
    První kolo začíná místo { $first-seat }. Každé další kolo začíná následující místo.

## Tah

turn-heading = Průběh tahu
turn-order = Tah má vždy stejné pořadí: líznout kartu, chcete-li, zahrát karty, a odhodit kartu.
turn-draw =
    Líznutí: vezměte si právě jednu kartu, buď vrchní kartu talonu, nebo viditelnou vrchní kartu odhazovacího
    balíčku. Celý odhazovací balíček si smí každý prohlédnout, vzít se z něj ale dá jen vrchní karta.
turn-play =
    Hraní: jakmile jste si lízli, můžete vykládat kombinace a přikládat ke kombinacím na stole, kolikrát
    chcete a v libovolném pořadí. Nemusíte ani jedno.
turn-discard =
    Odhození: položte jednu kartu z ruky lícem nahoru na odhazovací balíček. Tím váš tah končí. Bez odhození
    může tah skončit jen tehdy, skončí-li dříve kolo.
turn-return =
    Kartu, kterou jste si vzali z odhazovacího balíčku, smíte v témže tahu zase odhodit. Je to vlastně totéž
    jako tah vynechat.

## Povolené akce

legal-heading = Co smíte a co musíte
legal-set =
    Skupinu tvoří { $min-meld } nebo { $max-set ->
        [one] { $max-set } karta
        [few] { $max-set } karty
       *[other] { $max-set } karet
    } stejné hodnoty, každá jiné barvy, například { $set-example }.
legal-run =
    Postupku tvoří nejméně { $min-meld ->
        [one] { $min-meld } karta
        [few] { $min-meld } karty
       *[other] { $min-meld } karet
    } jedné barvy jdoucí za sebou, například { $run-example }. Nejdelší má { $max-run ->
        [one] { $max-run } kartu
        [few] { $max-run } karty
       *[other] { $max-run } karet
    }, od { $lowest-rank } do { rank-ace }.
legal-ace =
    Eso stojí jedině nad králem: { $ace-run } je postupka, { $ace-below } ani { $ace-around } postupky nejsou.
    Za esem postupka nikdy nepokračuje. Kolik bodů se za eso počítá, na tom nic nemění.
legal-meld =
    Vyložit: položte na stůl platnou skupinu nebo postupku z vlastní ruky. Nemusíte vyložit všechno, co k sobě
    patří: smíte vyložit { $min-meld } ze { $max-set } karet stejné hodnoty nebo jen část dlouhé postupky.
    Kombinace se v kole číslují od { $first-meld } v pořadí, v jakém byly vyloženy, a každé její číslo
    zůstává.
legal-lay-off =
    Přiložit: přidejte jednu nebo více karet z ruky k jedné kombinaci na stole, i k soupeřově. Celá kombinace
    musí zůstat platná. Postupku lze prodloužit na obou koncích najednou: k { $lay-off-run } lze naráz
    přiložit { $lay-off-cards }. Sami předtím nemusíte mít nic vyloženo.
legal-table =
    Karty na stole zůstávají, kde jsou: nikdo je nesmí přesunout do jiné kombinace ani si je vzít zpět.
legal-duties =
    Než uděláte cokoli jiného, musíte si líznout, a v jednom tahu si líznete jen jednou. Vykládat ani
    přikládat nikdy nemusíte. Tah musíte ukončit odhozením karty, pokud kolo neskončí dříve.
legal-last-card =
    { $discard-to-win ->
        [on]
            V této místnosti musíte poslední kartu z ruky odhodit. Vyložit nebo přiložit tak, aby vám v ruce
            nic nezbylo, se nesmí.
       *[off] Posledních karet se smíte zbavit jakkoli: odhozením, vyložením kombinace nebo přiložením.
    }
legal-refused =
    Co pravidla v danou chvíli nedovolují, bude odmítnuto a nic se nezmění.

## Body

scoring-heading = Bodování
scoring-cards =
    V ruce se karty s čísly počítají podle svého čísla. { rank-jack }, { rank-queen } a { rank-king } se
    počítají po { $face-points ->
        [one] { $face-points } bodu
       *[other] { $face-points } bodech
    } a eso za { $ace-points ->
        [one] { $ace-points } bod
        [few] { $ace-points } body
       *[other] { $ace-points } bodů
    }.
scoring-example =
    Například { $hand-example } v ruce mají dohromady { $hand-points ->
        [one] { $hand-points } bod
        [few] { $hand-points } body
       *[other] { $hand-points } bodů
    }.
scoring-round =
    Ať kolo skončilo jakkoli, vítěz si připíše body za všechny karty, které soupeřům zůstaly v ruce.
    Nevyložené kombinace se počítají v plné hodnotě. Karty na stole se nepočítají nikomu.
scoring-others =
    Body ostatních se nemění a karty, které v ruce zůstaly samotnému vítězi, se neodečítají.

## Konec

end-heading = Konec kola a partie
end-out =
    { $discard-to-win ->
        [on] Kolo končí ve chvíli, kdy hráč odhodí svou poslední kartu.
       *[off]
            Kolo končí ve chvíli, kdy hráči nezbude v ruce žádná karta, ať už poslední odhodil, vyložil, nebo
            přiložil.
    } Tento hráč zavřel a vyhrává kolo.
end-stock =
    Když si někdo lízne poslední kartu talonu, jeho tah pokračuje jako obvykle. Od té doby si ten, kdo má
    líznout, může vzít vrchní kartu odhazovacího balíčku a hrát dál, nebo si přesto říct o kartu z prázdného
    talonu. To je dovoleno a kolo tím ihned končí: žádná karta se nepřesune a tah se nepočítá jako dokončený.
    Odhazovací balíček se nikdy nezamíchá do nového talonu.
end-stock-winner =
    Kolo pak vyhrává hráč, jehož celá ruka má nejméně bodů; může to být i ten, kdo si o kartu řekl. Skupiny a
    postupky, které má kdo ještě v ruce, se počítají v plné hodnotě. Při shodě vyhrává nejnižší číslo místa,
    bez ohledu na to, kdo si o kartu řekl a kdo kolo začínal.
end-match =
    Kola se hrají, dokud vítěz některého z nich nemá { $target-score ->
        [one] { $target-score } bod
        [few] { $target-score } body
       *[other] { $target-score } bodů
    } nebo více. Tento hráč vyhrává partii.
end-next =
    Pokud kolo partii nerozhodne, další se rozdá samo, a to ihned nebo po krátké přestávce nastavené pro
    místnost. Mezi koly se nedá nic zahrát.

## Zvláštní případy

special-heading = Zvláštní případy a varianty, které se nehrají
special-options =
    Při založení místnosti se volí tři věci, které se už potom nemění: bodový cíl od { $min-target } do
    { $max-target } (obvykle { $default-target }), zda se eso v ruce počítá za { $high-ace-points } místo za
    { $low-ace-points } (obvykle ne) a zda se poslední karta musí odhodit (obvykle ne).
special-room =
    Tato pravidla platí pro místnost, kde se hraje do { $target-score ->
        [one] { $target-score } bodu
       *[other] { $target-score } bodů
    }, eso v ruce se počítá za { $ace-points ->
        [one] { $ace-points } bod
        [few] { $ace-points } body
       *[other] { $ace-points } bodů
    } a poslední karta se { $discard-to-win ->
        [on] musí odhodit.
       *[off] smí i vyložit nebo přiložit.
    }
special-opening =
    Pro první vyložení není žádné minimum. Varianta, v níž musí mít první vyložené kombinace aspoň
    { $opening-points ->
        [one] { $opening-points } bod
        [few] { $opening-points } body
       *[other] { $opening-points } bodů
    }, se nehraje: vykládat i přikládat smíte od prvního tahu bez ohledu na to, kolik bodů karty mají.
special-jokers =
    Žolíci ve hře nejsou, takže je nelze ani vyměnit za kartu, kterou zastupují, ani získat ze stolu zpět.
special-fixed =
    Nic z toho nelze zapnout: žádná místnost nemá minimum pro první vyložení, žolíky ani postupky s esem pod
    dvojkou.
special-round-limit =
    Aby nikdo nemohl hru protahovat donekonečna, platí dvě meze; jejich hodnoty jsou v místnosti uvedeny. Kolo
    má nejvýše { $round-turns ->
        [one] { $round-turns } tah
        [few] { $round-turns } tahy
       *[other] { $round-turns } tahů
    }, přičemž tahy všech hráčů se počítají dohromady; tah je dokončen odhozením karty. Odhozením, které
    dokončí poslední z nich, kolo končí, nikdo si už nelíže a vítěz se určí jako při prázdném talonu.
    Zůstane-li však hráči po tomto odhození prázdná ruka, zavřel jako obvykle.
special-match-limit =
    Partie, v níž { $match-turns ->
        [one] byl dokončen { $match-turns } tah
        [few] byly dokončeny { $match-turns } tahy
       *[other] bylo dokončeno { $match-turns } tahů
    }, končí zároveň s kolem, které se právě hraje. Nedosáhne-li vítěz tohoto kola bodového cíle, vyhrává
    partii ten, kdo má nejvíce bodů, a při shodě nejnižší číslo místa.
special-shuffle =
    Zamíchání lze ověřit. Před partií místnost zveřejní hodnotu, která předem určí náhodná čísla služby; poté
    může až do začátku partie každý hráč přidat vlastní náhodu. Když kolo skončí, jeho tajné číslo se odhalí a
    kdokoli může pořadí balíčku znovu spočítat a kolo přehrát.

## Roboti

bots-heading = Roboti
bots-sight =
    Robot ví to, co hráč na jeho místě, a nic víc: zná svou ruku, stůl, odhazovací balíček, počty karet v
    ostatních rukou a v talonu, stav bodů, volby a meze místnosti, ví, kdo je na tahu, co kdo v tomto kole
    zahrál veřejně a které akce jsou povoleny. Nikdy nevidí skrytou kartu, pořadí talonu ani tajné číslo
    zamíchání.
bots-easy =
    Lehký ihned vyloží a přiloží všechno, co může. Odhazuje svou nejvyšší osamocenou kartu, tedy takovou, k
    níž v ruce nemá jinou kartu téže hodnoty ani kartu téže barvy vzdálenou nejvýše o { $near-ranks ->
        [one] { $near-ranks } hodnotu
        [few] { $near-ranks } hodnoty
       *[other] { $near-ranks } hodnot
    }. Nejvyšší je ta, která má nejvíce bodů, potom ta s vyšší hodnotou, potom ta, jejíž barva je v pořadí ♣ ♦
    ♥ ♠ dále. Nemá-li žádnou osamocenou, odhodí nejvyšší kartu z ruky.
bots-normal =
    Střední hledá užitečné kombinace, tedy karty, kterým do vyložení chybí jediné líznutí. Zvažuje riziko, že
    odhozená karta pomůže soupeři nebo se hodí ke kombinaci na stole a že brzy vyložená kombinace umožní
    ostatním přikládat.
bots-hard =
    Těžký si pamatuje, které karty byly veřejně vzaty, odhozeny a ponechány, a omezeným prohledáváním hledá
    tah, po němž mu v ruce zůstane nejméně bodů mimo kombinace.
bots-stall =
    Roboti hru neprotahují: robot, který si { $stall-turns ->
        [one] v { $stall-turns } svém tahu
        [few] ve { $stall-turns } svých tazích po sobě
       *[other] v { $stall-turns } svých tazích po sobě
    } vzal kartu z odhazovacího balíčku, aniž co vyložil nebo přiložil, si příště lízne z talonu.
bots-steady =
    Všichni tři jsou předvídatelní v tomto smyslu: při stejném pohledu na hru, stejných povolených akcích a
    stejném semínku robota zvolí vždy stejnou akci. To semínko nemá se zamícháním nic společného.
