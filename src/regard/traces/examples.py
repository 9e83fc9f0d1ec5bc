"""Sentences that come with regard, so that heads and senses can be studied without any file.

`SENTENCES` are everyday English with names, numbers and repeated words. `SENSES` holds sentences by meaning
for words that have several: شیر is milk, a lion and a tap in Persian (L5).
"""

from __future__ import annotations

from collections.abc import Mapping

from regard.data.toys.persian import MEANINGS, WORD

SENTENCES = (
    "The old man sold his house to a young doctor from Madrid.",
    "Anna gave Peter the book that she had bought in Berlin.",
    "The dog chased the cat, and the cat chased the mouse.",
    "We have seen 25 ships in the harbour since Monday.",
    "The teacher who lives next door speaks three languages.",
    "If it rains tomorrow, the children will stay at home.",
    "The committee has not yet decided what to do with the money.",
    "My sister and her husband are going to visit us in July.",
    "The bridge was built in 1904 and repaired in 1998.",
    "He opened the window because the room was too warm.",
    "They quickly left the theatre before the end of the play.",
    "The report describes the causes and the consequences of the crisis.",
    "Nobody knows where the director of the museum is.",
    "The small red car stopped in front of the large white building.",
    "I would like to thank the members of the commission for their work.",
    "What the minister said yesterday surprised many people.",
    "The engineer explained the problem to her colleagues very clearly.",
    "Maria stayed in Paris for seven weeks and then returned to Rome.",
    "The farmers sell apples, pears and plums at the market.",
    "This computer is much faster than the one that we used before.",
    "The cook washed the carrots, cut the carrots and boiled the carrots.",
    "After the concert the musicians ate soup in a little restaurant.",
    "The government must find a new answer to an old question.",
    "The boy who broke the vase apologised to his grandmother.",
    "Please save the file before you close the program.",
    "The river is wide, but the river is not deep.",
    "Thomas drove from Hamburg to Lyon with Sarah and two dogs.",
    "The letter that arrived this morning was written by a lawyer.",
    "There are more trees than houses in this quiet village.",
    "The nurse asked the patient whether he had slept well.",
)

SENSES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "bank": {
        "money": (
            "She opened an account at the bank.",
            "The bank lends money to small companies.",
            "He works for a bank in London.",
            "The bank raised its interest rates again.",
            "I paid the cheque into the bank this morning.",
            "The central bank controls inflation.",
            "Our bank closed two of its branches.",
            "The robbers stole a million euros from the bank.",
        ),
        "river": (
            "We sat on the bank of the river.",
            "The boat was tied to the bank.",
            "Trees grow along the bank of the stream.",
            "The children fished from the muddy bank.",
            "The water rose above the bank after the storm.",
            "A path follows the left bank of the Rhine.",
            "He swam across the river to the other bank.",
            "The grass on the bank was wet.",
        ),
    },
    "light": {
        "lamp": (
            "Please turn on the light.",
            "The light in the kitchen is broken.",
            "The light of the moon fell on the lake.",
            "There is not enough light in this room.",
            "The plants need light and water.",
            "A bright light shone through the window.",
            "The light of the sun hurts my eyes.",
            "Switch off the light before you leave.",
        ),
        "not heavy": (
            "This suitcase is very light.",
            "We had a light meal in the evening.",
            "A light jacket is enough for today.",
            "The new bicycle is light and fast.",
            "The box is so light that a child can carry it.",
            "A light rain fell in the morning.",
            "The material is light but strong.",
            "Aluminium is a light metal.",
        ),
    },
    "run": {
        "move": (
            "The children run across the field.",
            "I run five kilometres every morning.",
            "The dogs run after the ball.",
            "We had to run to catch the bus.",
            "Horses can run very fast.",
            "They run along the beach in summer.",
        ),
        "manage": (
            "My parents run a small hotel.",
            "They run the company together.",
            "She wants to run her own restaurant.",
            "Two sisters run the school.",
            "It is difficult to run a business in this town.",
            "The brothers run a farm in the north.",
        ),
        "work": (
            "The program can run on any computer.",
            "Run the command again as administrator.",
            "You can run the script from the terminal.",
            "The tests run on every server.",
            "These applications run in the background.",
            "You must run the installer first.",
        ),
    },
    WORD: MEANINGS,
}
