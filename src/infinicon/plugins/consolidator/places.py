"""Names of places that are told from other names by themselves: "moved to Lyon" is a move, "moved to Spotify" may be a job.

Closed and short on purpose: of a place that is not here nothing is said. Names that are as often those of people, of software or of
companies are left out: Java, Phoenix, Florence, Victoria, Charlotte, Delphi.
"""

from __future__ import annotations

_WIDE = """
africa, asia, europe, scandinavia, afghanistan, albania, algeria, angola, argentina, armenia, australia, austria, azerbaijan, bahrain,
bangladesh, belarus, belgium, bolivia, bosnia, botswana, brazil, bulgaria, cambodia, cameroon, canada, chile, china, colombia, costa rica,
croatia, cuba, cyprus, denmark, ecuador, egypt, england, estonia, ethiopia, finland, france, germany, ghana, greece, guatemala, honduras,
hungary, iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, kazakhstan, kenya, kuwait, latvia, lebanon, libya,
lithuania, madagascar, malaysia, mali, malta, mexico, moldova, mongolia, montenegro, morocco, mozambique, namibia, nepal, netherlands,
new zealand, nicaragua, nigeria, norway, oman, pakistan, panama, paraguay, peru, philippines, poland, portugal, qatar, romania, russia,
rwanda, saudi arabia, scotland, senegal, serbia, slovakia, slovenia, somalia, south africa, south korea, spain, sri lanka, sudan, sweden,
switzerland, syria, taiwan, tanzania, thailand, tunisia, turkey, uganda, ukraine, united kingdom, united states, uruguay, uzbekistan,
venezuela, vietnam, wales, yemen, zambia, zimbabwe, alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware,
florida, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota,
mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, north carolina, north dakota, ohio, oklahoma,
oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, west virginia, wisconsin, wyoming,
bavaria, saxony, tuscany, sicily, sardinia, catalonia, andalusia, brittany, normandy, provence, ontario, quebec, alberta, queensland,
tasmania, crete, corsica
"""
_PARTS = "brooklyn, queens, manhattan, harlem, bronx, kreuzberg, montmartre, camden, hackney, soho"
_TOWNS = """
aachen, aberdeen, accra, addis ababa, adelaide, albuquerque, alexandria, algiers, almaty, amman, amsterdam, ankara, antwerp, athens,
atlanta, auckland, baghdad, baku, baltimore, bangalore, bangkok, barcelona, bari, basel, beijing, beirut, belfast, belgrade, bergen,
berlin, bern, bilbao, birmingham, bogota, bologna, bonn, bordeaux, boston, brasilia, bratislava, bremen, brisbane, bristol, brno,
brussels, bucharest, budapest, buenos aires, buffalo, cairo, calgary, canberra, cape town, caracas, cardiff, casablanca, chengdu,
chennai, chicago, christchurch, cincinnati, cleveland, cologne, columbus, copenhagen, cork, dakar, dallas, damascus, delhi, denver,
detroit, dhaka, doha, dortmund, dresden, dubai, dublin, durban, dusseldorf, düsseldorf, edinburgh, edmonton, eindhoven, essen, frankfurt,
gdansk, geneva, genoa, ghent, glasgow, gothenburg, granada, graz, grenoble, guangzhou, hamburg, hanoi, hanover, havana, heidelberg,
helsinki, hiroshima, hong kong, honolulu, houston, hyderabad, indianapolis, innsbruck, istanbul, jakarta, jerusalem, johannesburg,
kampala, kansas city, karachi, kathmandu, kharkiv, kiev, kigali, kinshasa, kobe, kolkata, krakow, kuala lumpur, kyiv, kyoto, lagos,
las vegas, lausanne, leeds, leipzig, lille, lima, lisbon, liverpool, ljubljana, london, los angeles, luanda, lucerne, lusaka, luxembourg,
lviv, lyon, madrid, malaga, malmo, malmö, manchester, manila, mannheim, maputo, marrakesh, marseille, medellin, melbourne, memphis,
mexico city, miami, milan, milwaukee, minneapolis, minsk, mombasa, monaco, montevideo, montpellier, montreal, moscow, mumbai, munich,
münster, nagoya, nairobi, nantes, naples, nashville, new delhi, new orleans, new york, new york city, newcastle, nice, nottingham,
nuremberg, oakland, odessa, oslo, osaka, ottawa, oxford, palermo, paris, perth, philadelphia, pisa, pittsburgh, porto, portland, prague,
pune, quito, reykjavik, riga, rio de janeiro, riyadh, rome, rotterdam, sacramento, salt lake city, salzburg, san antonio, san diego,
san francisco, san jose, santiago, sao paulo, sapporo, sarajevo, seattle, seoul, seville, shanghai, sheffield, shenzhen, singapore,
sofia, southampton, split, st petersburg, stockholm, strasbourg, stuttgart, sydney, taipei, tallinn, tampa, tampere, tashkent, tbilisi,
tehran, tel aviv, thessaloniki, tirana, tokyo, toronto, toulouse, trento, trieste, tripoli, tunis, turin, turku, utrecht, valencia,
vancouver, venice, verona, vienna, vilnius, warsaw, wellington, winnipeg, wroclaw, yerevan, yokohama, zagreb, zurich, zürich
"""


def _read(names: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in names.split(","))


WIDE, PARTS, TOWNS = _read(_WIDE), _read(_PARTS), _read(_TOWNS)
"""Countries and regions; parts of a town; towns. Who lives in one of a kind may well live in one of another kind at the same time."""


def extent(name: str) -> frozenset[str] | None:
    """Which of the three a name in lower case is in; None of others."""
    return next((kind for kind in (WIDE, PARTS, TOWNS) if name in kind), None)
