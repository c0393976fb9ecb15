"""Boxes that can never be brought to a target any more: on dead cells, or frozen against walls and each other."""

from games.tasks.sokoban.room import Room


def is_lost(room: Room, boxes: int, pushed: int) -> bool:
    """Whether the box that was just pushed to a cell is on a dead one, or frozen with some box off its target.

    What it says is certain; not every position that cannot be solved is found.
    """
    if room.dead >> pushed & 1:
        return True
    frozen = _frozen(room, boxes, pushed, 0)
    return bool(frozen & ~room.targets)


def _frozen(room: Room, boxes: int, box: int, held: int) -> int:
    """The boxes that hold each other, `box` among them, if it is frozen; else 0.

    A box is frozen that can be pushed along neither axis; those in `held` count as walls.
    """
    held |= 1 << box
    along = _blocked(room, boxes, box, 1, held)
    if not along:
        return 0
    across = _blocked(room, boxes, box, room.columns, held)
    return along | across | 1 << box if across else 0


def _blocked(room: Room, boxes: int, box: int, step: int, held: int) -> int:
    """What blocks a box along an axis: the frozen boxes beside it (or itself, for walls and dead cells), or 0."""
    ahead, behind = box + step, box - step
    solid = room.walls | held
    if solid >> ahead & 1 or solid >> behind & 1:
        return 1 << box
    if room.dead >> ahead & 1 and room.dead >> behind & 1:
        return 1 << box
    for beside in (ahead, behind):
        if boxes >> beside & 1 and (frozen := _frozen(room, boxes, beside, held)):
            return frozen
    return 0
