"""What the questions are made of: words of four to ten letters, and plural nouns for the statements."""

WORDS = (
    "stone", "river", "lamp", "garden", "window", "bottle", "letter", "summer", "winter", "orange", "yellow",
    "pepper", "coffee", "banana", "rocket", "planet", "castle", "mirror", "button", "carpet", "basket", "kitchen",
    "dinner", "flower", "hammer", "ladder", "needle", "pencil", "rabbit", "tunnel", "valley", "wallet", "cabin",
    "eagle", "forest", "guitar", "island", "jacket", "kettle", "lemon", "marble", "nickel", "oyster", "puddle",
    "ribbon", "saddle", "teapot", "umbrella", "violin", "walnut", "zipper", "bridge", "candle", "donkey", "engine",
    "feather", "glacier", "harbor", "insect", "jungle", "anchor", "apple", "apron", "arrow", "artist", "avenue",
    "bacon", "badge", "baker", "balcony", "bamboo", "banner", "barrel", "battery", "beacon", "beetle", "bench",
    "bicycle", "biscuit", "blanket", "blossom", "bracelet", "bread", "breeze", "brick", "broom", "bubble", "bucket",
    "buffalo", "cactus", "camel", "camera", "canal", "canoe", "canvas", "captain", "caravan", "carrot", "cathedral",
    "cellar", "chain", "chair", "chamber", "cherry", "chicken", "chimney", "chocolate", "cinema", "circle",
    "circus", "cloud", "coast", "collar", "comet", "compass", "copper", "cottage", "cotton", "cradle", "crayon",
    "cricket", "crystal", "curtain", "cushion", "dagger", "dancer", "desert", "diamond", "doctor", "dolphin",
    "dragon", "drawer", "elbow", "elephant", "envelope", "farmer", "fence", "ferry", "fiddle", "finger", "flag",
    "fountain", "furnace", "galaxy", "gallery", "garlic", "giraffe", "glove", "grape", "hamster", "helmet", "honey",
    "horizon", "hospital", "hotel", "jewel", "journey", "keyboard", "kitten", "lantern", "leather", "library",
    "lizard", "lobster", "magnet", "market", "meadow", "medal", "melon", "monkey", "monument", "mountain", "museum",
    "mushroom", "napkin", "notebook", "ocean", "olive", "onion", "orchard", "paddle", "painter", "palace",
    "panther", "parrot", "peach", "peanut", "penguin", "piano", "pigeon", "pillow", "pirate", "pocket", "potato",
    "pumpkin", "puppet", "pyramid", "quarter", "quilt", "raccoon", "railway", "raven", "sailor", "salad",
    "sandwich", "scarf", "school", "scissors", "shadow", "shelter", "shovel", "silver", "snail", "spider", "spoon",
    "squirrel", "station", "sugar", "sunset", "table", "temple", "theater", "thunder", "tiger", "tomato", "tower",
    "trumpet", "turtle", "vase", "village", "volcano", "wagon", "waterfall", "whale", "whistle", "willow", "wizard",
    "zebra", "strawberry", "butterfly", "lighthouse", "watermelon", "helicopter", "microscope", "newspaper",
)  # fmt: skip
PLURALS = (
    "cats", "birds", "fish", "dogs", "poets", "nurses", "bakers", "pilots", "teachers", "painters", "farmers",
    "singers", "artists", "doctors", "lawyers", "robots", "wolves", "horses",
)  # fmt: skip
