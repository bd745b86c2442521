# Regelarket på bokmål.
#
# Tall, kort og valg kommer inn som variabler, så teksten ikke kan avvike fra spillmotoren: ingen tall skrives
# her. $discard-to-win er "on" eller "off". Et linjeskift i en tekst leses som et mellomrom.

title = Rami: spilleregler

## Slik skrives tieren og kortene uten tall.

rank-ten = 10
rank-jack = Kn
rank-queen = D
rank-king = K
rank-ace = A

## Mål

goal-heading = Målet med spillet
goal-aim =
    Rami er et kortspill i rummyfamilien for { $min-players } til { $max-players } spillere, der alle spiller
    for seg selv. Det gjelder å bli kvitt kortene før de andre: Du legger kombinasjoner på bordet – sett av
    kort med samme valør og sekvenser i én farge – og bygger på kombinasjoner som allerede ligger der.
goal-match =
    Et parti spilles over runder. Den som vinner en runde, får poengene for kortene de andre sitter igjen med.
    Den første som vinner en runde og da har minst { $target-score } poeng, vinner partiet.

## Forberedelser

set-up-heading = Kort, plasser og utdeling
set-up-deck =
    Det spilles med én kortstokk på { $deck-size } kort, uten jokere. Fra lavest til høyest er valørene
    { $rank-order }. Fargene er kløver ♣, ruter ♦, hjerter ♥ og spar ♠.
set-up-letters =
    Her står { rank-jack } for knekt, { rank-queen } for dame, { rank-king } for konge og { rank-ace } for
    ess. Dataene som programmene utveksler, er like på alle språk: { $data-ten } for tieren; { $data-faces }
    for knekt, dame, konge og ess; { $data-suits } for kløver, ruter, hjerter og spar. Kortet
    { $letter-example } skrives { $letter-example-data } der.
set-up-seats =
    Plassene nummereres fra { $first-seat }. Turen går videre til plassen med neste nummer, og fra den siste
    plassen tilbake til plass { $first-seat }.
set-up-deal =
    Kortene stokkes og deles ut ett om gangen i plassrekkefølge, fra den plassen som begynner runden. Med to
    spillere får hver { $hand-two } kort, med tre eller fire får hver { $hand-more } kort.
set-up-stock =
    Det neste kortet snus med bildesiden opp og blir starten på kastebunken. Resten ligger med baksiden opp og
    er trekkbunken: { $stock-two } kort med to spillere, { $stock-three } med tre og { $stock-four } med fire.
set-up-start =
    Plass { $first-seat } begynner den første runden. I hver ny runde er det den neste plassen som begynner.

## Tur

turn-heading = Slik går en tur
turn-order = En tur går alltid slik: trekk et kort, spill kort hvis du vil, og kast et kort.
turn-draw =
    Trekk: Ta nøyaktig ett kort, enten det øverste i trekkbunken eller det synlige, øverste kortet i
    kastebunken. Alle kan se hele kastebunken, men bare det øverste kortet kan tas.
turn-play =
    Spill: Når du har trukket, kan du legge ned kombinasjoner og bygge på dem som ligger på bordet, så mange
    ganger du vil og i den rekkefølgen du vil. Du kan også la være.
turn-discard =
    Kast: Legg ett kort fra hånden med bildesiden opp på kastebunken. Da er turen din over. En tur slutter
    uten kast bare når runden slutter først.
turn-return =
    Et kort du har tatt fra kastebunken, kan du kaste igjen i samme tur. I praksis har du da stått over.

## Lovlige handlinger

legal-heading = Hva du kan og hva du må gjøre
legal-set =
    Et sett er { $min-meld } eller { $max-set } kort med samme valør, alle i ulike farger, for eksempel
    { $set-example }.
legal-run =
    En sekvens er { $min-meld } eller flere kort på rad i samme farge, for eksempel { $run-example }. Den
    lengste sekvensen har { $max-run } kort, fra { $lowest-rank } til { rank-ace }.
legal-ace =
    Esset kan bare ligge over kongen: { $ace-run } er en sekvens, men { $ace-below } og { $ace-around } er det
    ikke. Ingen sekvens fortsetter forbi esset. Hvor mange poeng et ess teller, endrer ikke på dette.
legal-meld =
    Legg ned: Legg et gyldig sett eller en gyldig sekvens fra din egen hånd på bordet. Du trenger ikke å legge
    ned alt som passer; du kan legge ned { $min-meld } av { $max-set } like, eller en del av en lang sekvens.
    Kombinasjonene i en runde nummereres fra { $first-meld } etter hvert som de legges ned, og hver av dem
    beholder nummeret sitt.
legal-lay-off =
    Bygg på: Legg ett eller flere kort fra din egen hånd til én av kombinasjonene på bordet, også en
    motspillers. Hele kombinasjonen må være gyldig etterpå. En sekvens kan vokse i begge ender samtidig:
    { $lay-off-cards } kan legges til { $lay-off-run } på én gang. Du trenger ikke å ha lagt ned en egen
    kombinasjon først.
legal-table =
    Kort på bordet blir liggende. Ingen kan flytte dem til en annen kombinasjon eller ta dem opp igjen.
legal-duties =
    Du må trekke før du gjør noe annet, og du trekker bare én gang i hver tur. Du trenger aldri å legge ned
    eller bygge på. Du må avslutte turen med å kaste et kort, med mindre runden slutter først.
legal-last-card =
    { $discard-to-win ->
        [on]
            I dette rommet må det siste kortet på hånden kastes. Det er ikke lov å legge ned eller bygge på så
            hånden blir tom.
       *[off]
            De siste kortene kan gå ut av hånden på alle måter: Du kan kaste, legge ned en kombinasjon eller
            bygge på.
    }
legal-refused =
    Det reglene ikke tillater der og da, blir avvist, og ingenting endres.

## Poeng

scoring-heading = Poeng
scoring-cards =
    På hånden teller tallkortene det tallet de viser. { rank-jack }, { rank-queen } og { rank-king } teller
    { $face-points } poeng hver, og et ess teller { $ace-points } poeng.
scoring-example =
    For eksempel er { $hand-example } på hånden verdt { $hand-points } poeng til sammen.
scoring-round =
    Den som vinner runden, får poengene for alle kortene motspillerne har igjen på hånden, uansett hvordan
    runden sluttet. Kombinasjoner som ikke er lagt ned, teller fullt ut. Kort på bordet teller ikke for noen.
scoring-others =
    Ingen andres poengsum endres, og kort som vinneren selv har igjen, trekkes ikke fra.

## Slutt

end-heading = Når runden og partiet slutter
end-out =
    { $discard-to-win ->
        [on] En runde slutter i det øyeblikket en spiller kaster sitt siste kort.
       *[off]
            En runde slutter i det øyeblikket en spiller har tom hånd, enten det skjer ved å kaste, legge ned
            eller bygge på.
    } Den spilleren har gått ut og vinner runden.
end-stock =
    Når det siste kortet i trekkbunken er trukket, fortsetter turen som vanlig. Fra da av kan den som skal
    trekke, ta det øverste kortet i kastebunken og spille videre, eller likevel be om et kort fra den tomme
    trekkbunken. Det siste er lov og avslutter runden straks: Ingen kort flyttes, og turen regnes ikke som
    fullført. Kastebunken stokkes aldri på nytt.
end-stock-winner =
    Da vinner den spilleren som har færrest poeng på hele hånden, og det kan være den som ba om kortet. Sett
    og sekvenser som fortsatt er på hånden, teller fullt ut. Står flere likt, vinner det laveste
    plassnummeret, uansett hvem som ba om kortet og hvem som begynte runden.
end-match =
    Det spilles runder til vinneren av en runde har { $target-score } poeng eller mer. Den spilleren vinner
    partiet.
end-next =
    Hvis en runde ikke avgjør partiet, deles den neste ut uten at noen trenger å gjøre noe, straks eller etter
    en kort pause som er bestemt for rommet. Mellom to runder kan ingen spille noe.

## Særtilfeller

special-heading = Særtilfeller og varianter som ikke spilles
special-options =
    Tre ting velges når rommet opprettes, og endres ikke senere: poengmålet, fra { $min-target } til
    { $max-target } (vanligvis { $default-target }); om et ess på hånden teller { $high-ace-points } i stedet
    for { $low-ace-points } (vanligvis ikke); og om det siste kortet må kastes (vanligvis ikke).
special-room =
    Disse reglene gjelder et rom der det spilles til { $target-score } poeng, der et ess på hånden teller
    { $ace-points } poeng, og der det siste kortet { $discard-to-win ->
        [on] må kastes.
       *[off] også kan legges ned eller brukes til å bygge på.
    }
special-opening =
    Det finnes ikke noe åpningskrav. Varianten der det første du legger ned, må være verdt { $opening-points }
    poeng, spilles ikke: Du kan legge ned og bygge på fra din første tur, uansett hva kortene er verdt.
special-jokers =
    Det finnes ingen jokere, og derfor heller ingen å bytte ut med kortet de står for, eller ta tilbake fra
    bordet.
special-fixed =
    Ingenting av dette kan slås på: Ikke noe rom har åpningskrav, jokere eller sekvenser med esset under
    toeren.
special-round-limit =
    To grenser hindrer at noen trekker spillet ut i det uendelige; verdiene står i rommet. En runde har høyst
    { $round-turns ->
        [one] { $round-turns } tur
       *[other] { $round-turns } turer
    }, alle spillernes turer regnet sammen; en tur er fullført når kortet er kastet. Kastet som fullfører den
    siste, avslutter runden, ingen trekker mer, og vinneren kåres som ved tom trekkbunke. Blir hånden tom med
    det kastet, har spilleren derimot gått ut som vanlig.
special-match-limit =
    Et parti der { $match-turns ->
        [one] { $match-turns } tur
       *[other] { $match-turns } turer
    } er fullført, slutter sammen med runden som da spilles. Hvis vinneren av den runden ikke når poengmålet,
    vinner den høyeste poengsummen partiet, og ved likhet det laveste plassnummeret.
special-shuffle =
    Stokkingen kan etterprøves. Før partiet offentliggjør rommet en verdi som binder tjenesten til de
    tilfeldige tallene sine; deretter kan hver spiller legge til sin egen tilfeldighet helt til partiet
    begynner. Når en runde er slutt, avsløres det hemmelige tallet for runden, og hvem som helst kan regne ut
    rekkefølgen i kortstokken og spille runden om igjen.

## Roboter

bots-heading = Robotene
bots-sight =
    En robot vet det en spiller på plassen dens vet, og ikke mer: sin egen hånd, bordet, kastebunken, hvor
    mange kort det er på de andre hendene og i trekkbunken, poengsummene, valgene og grensene i rommet, hvem
    som er i tur, hva alle har gjort åpent i runden, og hvilke handlinger som er lovlige. Den ser aldri et
    skjult kort, rekkefølgen i trekkbunken eller et hemmelig tall for stokkingen.
bots-easy =
    Lett legger ned og bygger på alt den kan med en gang. Den kaster det høyeste løse kortet sitt, altså et
    kort som er alene om valøren sin på hånden, og som ikke har noe annet kort i samme farge innen
    { $near-ranks ->
        [one] { $near-ranks } valør
       *[other] { $near-ranks } valører
    } der. Høyest er kortet med flest poeng, så det med høyest valør, så det med fargen som kommer senest i
    rekkefølgen ♣ ♦ ♥ ♠. Har den ingen løse kort, kaster den det høyeste på hånden.
bots-normal =
    Normal ser etter nyttige kort som ett enkelt trekk kan gjøre til en kombinasjon. Den veier risikoen for at
    et kast hjelper en motspiller eller passer til en kombinasjon på bordet, og for at en kombinasjon som
    legges ned tidlig, gir de andre noe å bygge på.
bots-hard =
    Vanskelig husker hvilke kort som er tatt, kastet og latt ligge åpent for alle, og søker innen faste
    grenser etter det spillet som gir færrest poeng utenfor kombinasjoner på hånden.
bots-stall =
    Robotene haler ikke ut spillet: En robot som har trukket fra kastebunken i { $stall-turns ->
        [one] { $stall-turns } egen tur
       *[other] { $stall-turns } egne turer på rad
    } uten å legge ned eller bygge på, trekker deretter fra trekkbunken.
bots-steady =
    Alle tre er forutsigbare på denne måten: Med samme bilde av spillet, samme lovlige handlinger og samme
    robotfrø velger en robot alltid den samme handlingen. Frøet har ingenting med stokkingen å gjøre.
