"""The picture in the documentation of Paint is what the code draws."""

from benchmarks.paint import picture
from indexes.paint import reaches


def test_the_picture_is_that_of_the_code(tmp_path):
    again = tmp_path / "again.svg"
    picture.draw(again)
    assert again.read_bytes() == picture.PICTURE.read_bytes(), "python -m benchmarks.paint.picture"


def test_a_subscription_is_drawn_as_told_if_the_object_is_among_its_best():
    tiles = picture.messages()
    after = {**picture.OBJECTS, picture.UPDATED: picture.NEW_Y}
    for low, high in picture.SUBSCRIPTIONS:
        best = sorted((y, x) for x, y in after.items() if low <= x <= high)[: picture.K]
        told = any(reaches(tile, low, high) for tile in tiles)
        assert told == (picture.UPDATED in [x for _, x in best])


def test_the_page_says_what_the_messages_are():
    page = picture.PICTURE.with_name("paint.md").read_text()
    for message in picture.messages():
        assert picture.inside(message) in page
