"""Given names that are told from other capital words by themselves: "my manager is now Tom", and not "is now Agile".

Closed like the places: of a name that is not here nothing is said. Words and towns that are names as well are left out (Will, Rich,
Grace, Paris).
"""

from __future__ import annotations

GIVEN_NAMES = frozenset(
    """
    aaron abdul abigail adam adrian agnes ahmed aisha alan albert alejandro alessandro alex alexander alexandra alfred ali alice alicia
    alina alison amanda amelia amina amir amy ana anastasia andrea andreas andrew andy angela anil anita anja anna anne annette anthony
    antonia antonio arjun arthur astrid ayesha barbara beatrice ben benjamin bernd bernard beth bianca birgit bjorn bob boris brenda
    brian bridget bruce camille carl carla carlos carmen carol caroline catherine cecilia celine chloe chris christina christine
    christoph christopher claire clara claudia colin connor craig daniel daniela dave david deborah denis dennis derek diana diego dieter
    dmitri dominik donald donna dorothy doug dylan edith eduardo edward eleanor elena elias elif elisa elizabeth ella ellen elsa emil
    emily emma enrique eric erik erika ernst esther ethan eugene eva evelyn fabian farah fatima felipe felix fernando fiona francesca
    francesco francis francisco franz fred frieda fritz gabriel gabriela gareth gary george gerald gerard gerhard gianni giulia giuseppe
    gloria gordon graham greg gregory greta guido gustav hana hanna hannah hans harald harry hassan heather heidi heinrich helen helena
    helga henrik henry hiroshi howard hugo ian ibrahim ida ignacio igor ines ingrid irene irina isabel isabella ivan jacob jakob james
    jamie jan jana jane janet javier jason jean jeff jeffrey jennifer jenny jens jeremy jerome jesse jessica jill jim joan joanna joao
    joe joel johan johannes john johnny jonas jonathan jorge jose josef joseph joshua joyce juan judith judy julia julian julie jun karen
    karim karin karl kate katharina katherine kathleen kathryn katja keiko keith ken kenji kenneth kevin kim klaus kristina kumar kurt
    kyle lara lars laura lauren laurent lea leah leila lena leo leon leonard leonardo liam lidia lily linda lisa lorenzo louis louise
    luca lucas lucia lucy luis luisa luke lukas lydia maddie magda malcolm manuel marc marcel marco marcus margaret maria marie marina
    mario marion marta martha martin martina mary mateo mathias matteo matthew matthias maurice max maya megan mehmet mei melanie melissa
    mia michael michel michelle miguel mike mikhail mila mohamed mohammed monica monika moritz mustafa nadia naomi natalia
    natalie natasha nathan neil nicholas nick nicola nicolas nicole nigel nikita nikolai nina noah noel nora norbert olaf oleg olga
    oliver olivia omar oscar otto pablo pamela paolo patricia patrick paul paula paulo pavel pedro peggy peter petra philip philipp
    pierre pietro priya rachel rafael rahul raj ralph ramon raphael raul ravi rebecca regina renate rene ricardo richard rita robert
    roberto robin roger roland roman ronald rosa rosemary ross roy ruth ryan sabine sally salma sam samantha samir samuel sandra sandro
    sanjay sara sarah sebastian sergei sergio seth shannon sharon sheila silvia simon simone sofia sonia sonja sophia sophie stefan
    stefania stefanie stella stephanie stephen steve steven stuart sue susan susanna susanne sven sylvia takeshi tamara tania tanja
    tanya tara tatiana teresa thomas tim timothy tina tobias todd tom tomas tony tracy ulrich ursula uwe valentina valeria vanessa vera
    veronica viktor vincent viola vladimir walter wanda wei wendy werner wilhelm william wolfgang xavier yang yasmin yuki yusuf yvonne
    zoe
    """.split()
)
