"""What the made-up catalogue sells: kinds of goods, with the attributes and options that they may have."""

from typing import NamedTuple


class Line(NamedTuple):
    """A department: its place in the tree of categories, and what its goods have in common."""

    path: str
    attributes: tuple[str, ...]
    uses: tuple[str, ...]


class Kind(NamedTuple):
    """A kind of goods."""

    line: str
    query: str
    place: str
    """The rest of its place in the tree of categories."""
    names: tuple[str, ...]
    options: tuple[str, ...]
    """Names of OPTIONS that it may have."""
    price: tuple[int, int]
    attributes: tuple[str, ...]


def _list(text: str) -> tuple[str, ...]:
    return tuple([part.strip() for part in text.split(",")])


LINES = {
    "fashion": Line(
        "Clothing, Shoes & Jewelry",
        _list("machine wash, hand wash, cotton blend, polyester spandex, quick drying, moisture wicking, loose fit, "
              "slim fit, long sleeve, short sleeve, elastic waist, button closure, soft lining, wrinkle free"),
        _list("daily wear, office work, long walks, holidays, weekend trips, cool evenings"),
    ),
    "beauty": Line(
        "Beauty & Personal Care",
        _list("cruelty free, paraben free, fragrance free, long lasting, oil free, tea tree, coconut oil, hyaluronic "
              "acid, vitamin c, shea butter, sulfate free, alcohol free, dermatologist tested, travel size"),
        _list("dry skin, sensitive skin, damaged hair, oily skin, the morning, a gift"),
    ),
    "electronics": Line(
        "Electronics",
        _list("fast charging, high speed, plug play, noise cancelling, water resistant, hands free, dust proof, gold "
              "plated, easy install, heavy duty, high definition, shock proof, energy saving, remote control"),
        _list("travel, the home office, music, online lessons, the car, small rooms"),
    ),
    "garden": Line(
        "Home & Kitchen",
        _list("space saving, easy assemble, easy clean, non slip, eco friendly, lead free, hand made, rust proof, "
              "scratch resistant, fade resistant, heat resistant, water resistant, long lasting, easy install"),
        _list("the living room, the dining room, small flats, guests, the bedroom, children"),
    ),
    "grocery": Line(
        "Grocery & Gourmet Food",
        _list("gluten free, sugar free, non gmo, dairy free, keto friendly, plant based, low sodium, high protein, "
              "fair trade, caffeine free, artificial colors free, individually wrapped, ready eat, whole grain"),
        _list("breakfast, school lunches, hiking, parties, baking, an evening by the fire"),
    ),
}  # fmt: skip

KINDS = tuple(
    Kind(line, query, place, _list(names), _list(options), price, _list(attributes))
    for line, query, place, names, options, price, attributes in (
        ("fashion", "women's dresses", "Women > Dresses",
         "Wrap Dress, Summer Dress, Midi Dress", "colour, size", (15, 60), "high waist, v neck, side pockets"),
        ("fashion", "men's shirts", "Men > Shirts",
         "Oxford Shirt, Flannel Shirt, Polo Shirt", "colour, size, fit", (12, 45),
         "chest pocket, classic collar, stretch fabric"),
        ("fashion", "hiking boots", "Shoes > Outdoor",
         "Hiking Boot, Trail Boot", "colour, shoe size", (35, 140), "rubber sole, ankle support, waterproof membrane"),
        ("fashion", "running shoes", "Shoes > Athletic",
         "Running Shoe, Racing Sneaker", "colour, shoe size", (25, 120), "rubber sole, arch support, breathable mesh"),
        ("fashion", "winter jackets", "Unisex > Coats",
         "Parka, Down Jacket, Puffer Coat", "colour, size", (40, 180), "faux fur, zipper pockets, wind resistant"),
        ("fashion", "leggings", "Women > Active",
         "Yoga Leggings, Sport Tights", "colour, size", (10, 40), "tummy control, high waist, squat proof"),
        ("fashion", "wool socks", "Unisex > Socks",
         "Merino Socks, Crew Socks", "colour, pack", (6, 25), "reinforced heel, cushioned sole, odor control"),
        ("fashion", "sun hats", "Accessories > Hats",
         "Sun Hat, Bucket Hat, Straw Hat", "colour", (9, 35), "wide brim, chin strap, uv protection"),
        ("fashion", "backpacks", "Luggage > Backpacks",
         "Backpack, Daypack, Rucksack", "colour, volume", (20, 110), "laptop sleeve, padded straps, rain cover"),
        ("fashion", "pajama sets", "Women > Sleepwear",
         "Pajama Set, Nightgown", "colour, size", (14, 50), "drawstring waist, notch collar, brushed cotton"),
        ("beauty", "face creams", "Skin Care > Face",
         "Day Cream, Night Cream, Moisturizer", "content", (8, 60), "anti aging, spf 30, fine lines"),
        ("beauty", "shampoos", "Hair Care > Shampoo",
         "Shampoo, Scalp Shampoo", "scent, content", (6, 30), "color safe, anti dandruff, hair growth"),
        ("beauty", "hair dryers", "Hair Care > Tools",
         "Hair Dryer, Ionic Dryer", "colour", (20, 120), "foldable handle, three speeds, cool shot"),
        ("beauty", "lipsticks", "Makeup > Lips",
         "Lipstick, Lip Gloss, Lip Balm", "shade", (4, 28), "matte finish, smudge proof, highly pigmented"),
        ("beauty", "eyeshadow palettes", "Makeup > Eyes",
         "Eyeshadow Palette, Shimmer Palette", "shade", (7, 45), "highly pigmented, built mirror, easy blend"),
        ("beauty", "makeup brushes", "Tools > Brushes",
         "Brush Set, Powder Brush", "colour, pack", (6, 40), "synthetic bristles, wooden handle, storage case"),
        ("beauty", "body lotions", "Skin Care > Body",
         "Body Lotion, Body Butter", "scent, content", (6, 32), "non greasy, fast absorbing, deep moisture"),
        ("beauty", "electric toothbrushes", "Oral Care > Brushes",
         "Toothbrush, Sonic Toothbrush", "colour, pack", (18, 110),
         "pressure sensor, two minute timer, teeth whitening"),
        ("beauty", "perfumes", "Fragrance > Women",
         "Perfume, Body Mist, Eau De Toilette", "scent, content", (10, 90), "floral notes, roll bottle, lasting scent"),
        ("beauty", "nail polish", "Nails > Polish",
         "Nail Polish, Gel Polish", "shade", (3, 22), "chip resistant, quick dry, high shine"),
        ("electronics", "headphones", "Audio > Headphones",
         "Headphones, Studio Headset, Earbuds", "colour", (15, 250),
         "wireless bluetooth, carrying case, soft cushions"),
        ("electronics", "bluetooth speakers", "Audio > Speakers",
         "Bluetooth Speaker, Party Speaker", "colour", (15, 160), "stereo sound, deep bass, usb port"),
        ("electronics", "phone cases", "Phones > Cases",
         "Phone Case, Bumper Cover, Wallet Case", "colour, model", (6, 35),
         "wireless charging, card slots, raised edges"),
        ("electronics", "usb cables", "Accessories > Cables",
         "USB Cable, Charging Cord", "colour, length, pack", (5, 25), "aluminum alloy, nylon braided, data transfer"),
        ("electronics", "tablet stands", "Accessories > Stands",
         "Tablet Stand, Desk Mount", "colour, style", (9, 50), "aluminum alloy, adjustable angle, cable hole"),
        ("electronics", "security cameras", "Cameras > Security",
         "Security Camera, Doorbell Camera", "colour, pack", (25, 220),
         "night vision, motion detection, cloud storage"),
        ("electronics", "keyboards", "Computers > Input",
         "Mechanical Keyboard, Compact Keyboard", "colour, switch", (18, 160),
         "backlit keys, quiet keys, usb receiver"),
        ("electronics", "monitors", "Computers > Screens",
         "Monitor, Curved Display", "diagonal", (90, 600), "blue light, wall mountable, thin bezel"),
        ("electronics", "power banks", "Phones > Power",
         "Power Bank, Battery Pack", "colour, capacity", (15, 80), "two ports, led display, short circuit"),
        ("electronics", "projectors", "Video > Projectors",
         "Projector, Home Projector", "colour", (60, 450), "keystone correction, built speaker, ceiling mount"),
        ("garden", "console tables", "Furniture > Tables",
         "Console Table, Sofa Table", "finish, width", (60, 400), "solid wood, two drawers, open shelf, metal legs"),
        ("garden", "bar stools", "Furniture > Stools",
         "Bar Stool, Counter Stool", "finish, pack", (45, 260),
         "steel frame, solid wood, swivel seat, foot rest, padded back"),
        ("garden", "area rugs", "Textiles > Rugs",
         "Area Rug, Runner Rug", "colour, rug size", (25, 240),
         "low pile, double sided, machine washable, no shedding"),
        ("garden", "curtains", "Textiles > Curtains",
         "Blackout Curtain, Sheer Curtain", "colour, length", (14, 80),
         "room darkening, rod pocket, thermal insulated"),
        ("garden", "table lamps", "Lighting > Lamps",
         "Table Lamp, Desk Lamp, Bedside Lamp", "finish, style", (18, 120), "glass shade, touch control, led bulb"),
        ("garden", "bed pillows", "Bedding > Pillows",
         "Bed Pillow, Side Pillow", "pillow size, pack", (15, 90),
         "memory foam, cooling gel, removable cover, neck support"),
        ("garden", "storage baskets", "Storage > Baskets",
         "Storage Basket, Laundry Hamper", "colour, pack", (10, 55), "woven rope, sturdy handles, foldable"),
        ("garden", "frying pans", "Kitchen > Pans",
         "Frying Pan, Skillet", "diagonal, finish", (15, 110), "cast iron, stainless steel, induction base, oven safe"),
        ("garden", "wall mirrors", "Decor > Mirrors",
         "Wall Mirror, Vanity Mirror", "finish, width", (25, 210),
         "steel frame, solid wood, bevelled edge, shatter proof, full length"),
        ("garden", "office chairs", "Furniture > Chairs",
         "Office Chair, Desk Chair", "colour, style", (70, 380),
         "memory foam, steel frame, lumbar support, height adjustable, high back"),
        ("grocery", "green teas", "Beverages > Tea",
         "Green Tea, Sencha, Matcha", "pack, style", (4, 30), "loose leaf, antioxidant rich, single origin"),
        ("grocery", "coffee beans", "Beverages > Coffee",
         "Coffee Beans, Espresso Beans", "roast, weight", (8, 45), "single origin, low acid, small batch"),
        ("grocery", "protein bars", "Snacks > Bars",
         "Protein Bar, Energy Bar", "flavour, pack", (8, 40), "soy free, low carb, real nuts"),
        ("grocery", "potato chips", "Snacks > Chips",
         "Potato Chips, Kettle Chips", "flavour, pack", (5, 35), "kettle cooked, sea salt, trans fat"),
        ("grocery", "dark chocolates", "Sweets > Chocolate",
         "Chocolate Bar, Truffles", "flavour, pack", (5, 45), "cocoa butter, single origin, gift box"),
        ("grocery", "pasta sauces", "Pantry > Sauces",
         "Pasta Sauce, Tomato Sauce, Pesto", "flavour, weight", (4, 25), "slow cooked, extra virgin, fresh basil"),
        ("grocery", "olive oils", "Pantry > Oils",
         "Olive Oil, Salad Oil", "content, style", (9, 60), "cold pressed, extra virgin, glass bottle"),
        ("grocery", "dried fruits", "Snacks > Fruit",
         "Dried Mango, Raisins, Fruit Mix", "weight, pack", (5, 38), "no preservatives, sun dried, resealable bag"),
        ("grocery", "breakfast cereals", "Breakfast > Cereal",
         "Granola, Muesli, Cereal", "flavour, weight", (4, 28), "high fiber, real nuts, no preservatives"),
        ("grocery", "hot sauces", "Pantry > Condiments",
         "Hot Sauce, Chili Sauce", "flavour, content", (4, 24), "small batch, aged peppers, extra hot"),
    )
)  # fmt: skip

OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "colour": ("color", _list("black, white, navy blue, light grey, red, olive green, pink, teal, brown, "
                              "yellow, purple, "
                              "coral, black | red, white | gold")),
    "shade": ("color", _list("classic red, rose, nude, plum, coral, deep brown, burgundy, peach, copper, lilac")),
    "finish": ("color", _list("walnut, white, matte black, bronze, natural, silver, grey wash, brass")),
    "size": ("size", _list("small, medium, large, x-large, xx-large, 3x-large")),
    "shoe size": ("size", _list("6, 7, 8, 9, 10, 11, 12, 13")),
    "rug size": ("size", _list("2 x 3 ft, 3 x 5 ft, 4 x 6 ft, 5 x 8 ft, 8 x 10 ft")),
    "pillow size": ("size", _list("standard, queen, king")),
    "width": ("size", _list("24 inch, 30 inch, 36 inch, 48 inch, 60 inch")),
    "diagonal": ("size", _list("8 inch, 10 inch, 12 inch, 24 inch, 27 inch, 32 inch")),
    "content": ("size", _list("1.7 fl oz, 3.4 fl oz, 8 fl oz, 12 fl oz, 16 fl oz")),
    "weight": ("size", _list("6 ounce, 12 ounce, 1 pound, 2 pound, 5 pound")),
    "length": ("size", _list("3 ft, 6 ft, 10 ft, 15 ft")),
    "volume": ("size", _list("15 liter, 22 liter, 30 liter, 45 liter")),
    "capacity": ("size", _list("5000 mah, 10000 mah, 20000 mah, 30000 mah")),
    "pack": ("number of items", _list("1 pack, 2 pack, 4 pack, 6 pack, 12 pack")),
    "fit": ("fit type", _list("regular, slim, big and tall")),
    "style": ("style", _list("basic, deluxe, premium, travel")),
    "model": ("model", _list("series 10, series 11, series 12 pro, series 13, series 14 max")),
    "switch": ("style", _list("linear, tactile, clicky")),
    "scent": ("scent", _list("lavender, citrus, vanilla, cedar, jasmine, unscented")),
    "flavour": ("flavor name", _list("original, garlic, smoky, sweet chili, honey, berry, lemon, vanilla")),
    "roast": ("style", _list("light roast, medium roast, espresso roast, decaf")),
}  # fmt: skip
"""Name of an option here -> its name in the shop, and its values."""
