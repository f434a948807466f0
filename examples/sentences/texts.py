"""Sentences from books and speeches that everybody may quote, questions about them, and others to calibrate with."""

from __future__ import annotations

# (source, sentence)
LIBRARY = (
    (
        "Austen, Pride and Prejudice",
        "It is a truth universally acknowledged, that a single man in possession of a good fortune, "
        "must be in want of a wife.",
    ),
    ("Melville, Moby-Dick", "Call me Ishmael."),
    ("Melville, Moby-Dick", "It is not down in any map; true places never are."),
    ("Dickens, A Tale of Two Cities", "It was the best of times, it was the worst of times."),
    (
        "Tolstoy, Anna Karenina",
        "Happy families are all alike; every unhappy family is unhappy in its own way.",
    ),
    (
        "Darwin, On the Origin of Species",
        "From so simple a beginning endless forms most beautiful and most wonderful have been, "
        "and are being, evolved.",
    ),
    (
        "Shakespeare, The Tempest",
        "We are such stuff as dreams are made on, and our little life is rounded with a sleep.",
    ),
    ("Shakespeare, As You Like It", "All the world's a stage, and all the men and women merely players."),
    (
        "Lincoln, Gettysburg Address",
        "Government of the people, by the people, for the people, shall not perish from the earth.",
    ),
    ("Thoreau, Walden", "I went to the woods because I wished to live deliberately."),
    ("Shelley, Frankenstein", "Beware; for I am fearless, and therefore powerful."),
    ("Wilde, Lady Windermere's Fan", "We are all in the gutter, but some of us are looking at the stars."),
    ("Doyle, A Scandal in Bohemia", "You see, but you do not observe."),
    (
        "Doyle, The Sign of the Four",
        "When you have eliminated the impossible, whatever remains, however improbable, must be the truth.",
    ),
    (
        "Lovelace, notes on the Analytical Engine",
        "The Analytical Engine weaves algebraical patterns "
        "just as the Jacquard loom weaves flowers and leaves.",
    ),
    ("Carroll, Alice's Adventures in Wonderland", "We're all mad here. I'm mad. You're mad."),
    (
        "Carroll, Alice's Adventures in Wonderland",
        "It's no use going back to yesterday, because I was a different person then.",
    ),
    ("Newton, letter to Hooke", "If I have seen further it is by standing on the shoulders of giants."),
    (
        "Franklin, letter to Le Roy",
        "In this world nothing can be said to be certain, except death and taxes.",
    ),
    (
        "Brontë, Jane Eyre",
        "I am no bird; and no net ensnares me: I am a free human being with an independent will.",
    ),
    ("Stevenson, Treasure Island", "Fifteen men on the dead man's chest, yo-ho-ho, and a bottle of rum!"),
    (
        "Verne, Twenty Thousand Leagues",
        "The sea is everything; it covers seven tenths of the terrestrial globe.",
    ),
    ("Burns, To a Mouse", "The best laid schemes of mice and men often go awry."),
    ("Dickinson, poem 254", "Hope is the thing with feathers that perches in the soul."),
)

# (question, the start of the sentence one would expect)
QUESTIONS = (
    ("Rich bachelors are expected to marry.", "It is a truth universally acknowledged"),
    ("Species change over generations.", "From so simple a beginning"),
    ("A computer that works on symbols like a weaving machine.", "The Analytical Engine"),
    ("Dying and paying taxes cannot be avoided.", "In this world nothing"),
    ("Democracy must survive.", "Government of the people"),
    ("Life is like a theatre play.", "All the world's a stage"),
    ("He owed his discoveries to the giants who came before him.", "If I have seen further"),
    ("Rule out what cannot be, and you are left with the answer.", "When you have eliminated"),
    ("A pirates' drinking song.", "Fifteen men"),
    ("Most of the planet's surface is ocean.", "The sea is everything"),
)

# What weights of 4 bits are rounded for: none of these is in the library or asked of it.
CALIBRATION = (
    "The sky above the port was grey, and the wind came from the north.",
    "How do I reset the password of my account?",
    "A quick brown fox jumps over the lazy dog.",
    "The committee will meet on Tuesday to discuss the budget for next year.",
    "Water boils at a lower temperature on high mountains.",
    "She opened the letter with trembling hands and began to read.",
    "Which train goes to the airport on Sundays?",
    "The patient was given antibiotics for an infection of the lung.",
    "Prices of wheat and maize rose sharply after the drought.",
    "Our cat sleeps on the warm roof of the car all afternoon.",
    "The orchestra played a symphony by a young composer.",
    "Mix the flour with butter and sugar, then bake it for forty minutes.",
    "The court decided that the contract was void.",
    "Bees tell each other where flowers are by dancing.",
    "He has scored two goals in the last three matches.",
    "Install the package, restart the server, and check the log for errors.",
    "The moon is about a quarter of a million miles away.",
    "Children learn languages faster than adults do.",
    "The old bridge was closed because its pillars had cracked.",
    "Send me the report by Friday, please.",
    "Light travels in straight lines unless something bends it.",
    "Two armies met on a plain outside the city.",
    "My grandmother grew roses and tomatoes in a tiny garden.",
    "The company sold its factory and moved its office to the capital.",
    "Volcanoes throw ash high into the air.",
    "Can you recommend a good book about the history of Rome?",
    "The thief escaped through the window before the police arrived.",
    "Add the numbers in the first column and divide by their count.",
    "A heavy snowfall stopped all traffic in the valley.",
    "The painter used blue and gold for the robes of the saint.",
)
