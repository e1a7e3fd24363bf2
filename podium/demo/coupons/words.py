"""What coupons are about, from the most to the least wanted, and how people talk of it."""

from itertools import product

_GOODS = """
pizza coffee burger sushi shoes haircut beer breakfast tacos ramen jeans cinema books wine
massage phone vegan kebab noodles bakery gym yoga laptop bicycle flowers chocolate pasta curry
steak salad brunch sandwich headphones sneakers dress jacket watch glasses hotel hostel museum
concert theatre karaoke bowling climbing swimming sauna manicure barber tattoo dentist toys
games puzzle guitar piano camera tablet charger printer furniture sofa lamp carpet mattress
curtains paint tools garden plants seeds tent backpack skis snowboard surfboard kayak skateboard
helmet tennis football basketball golf running cycling boxing dancing pottery drawing painting
knitting sewing cooking baking cheese bread croissant bagel donut pancake waffle smoothie juice
tea matcha espresso latte cocktail whisky gin cider lobster oyster shrimp salmon tuna chicken
turkey lamb tofu falafel hummus burrito nachos dumplings dimsum pho kimchi barbecue ribs sausage
pretzel pierogi paella tapas gelato cake cookies brownies honey jam olive spices rice beans
lentils avocado mango banana apple orange berries carwash tyres petrol parking taxi train flight
ferry laundry cleaning repair locksmith plumber vet kitten puppy aquarium
"""
GOODS = tuple(_GOODS.split())

_SYLLABLES = ("ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pe", "ra", "so", "tu", "va", "zo")
BRANDS = tuple("".join(parts) + "x" for parts in product(_SYLLABLES, repeat=3))

PHRASES = ("happy hour", "two for one", "late night", "free delivery", "student discount")
LIMITS = ("cheap", "vegan", "frozen", "used")  # what coupons do not want to be about

_FILLERS = """
the and with for some here now really just after work today my friends want good near a place
before home let us find where is anybody know looking around
"""
FILLERS = tuple(_FILLERS.split())
GREETINGS = ("Hey,", "So,", "Well:", "Anyone?", "OK.")
ENDINGS = (".", "!", "?", "...", " :)")
