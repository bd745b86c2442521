"""rami_wire: the only conversions between engine objects and protobuf messages.

Each `x_to_proto` has its `x_from_proto`, and the two are exact inverses on what the engine makes. Whatever is
malformed raises the engine's own errors, which name the field.
"""

from __future__ import annotations

from rami_wire.actions import (
    action_from_proto,
    action_to_proto,
    encode_action,
    encode_actions,
    encode_legal_actions,
    legal_actions_to_proto,
)
from rami_wire.cards import to_card, to_cards, to_mask
from rami_wire.framing import (
    encode_field,
    encode_varint,
    encode_varint_field,
    field_heads,
    small_fields,
    varint_tag,
)
from rami_wire.replays import replay_record
from rami_wire.rules import (
    guards_from_proto,
    guards_to_proto,
    options_from_proto,
    options_to_proto,
    phase_from_proto,
    phase_to_proto,
    result_from_proto,
    result_to_proto,
)
from rami_wire.states import encode_match, match_from_store
from rami_wire.views import encode_view, view_from_proto, view_to_proto

__all__ = [
    "action_from_proto",
    "action_to_proto",
    "encode_action",
    "encode_actions",
    "encode_field",
    "encode_legal_actions",
    "encode_match",
    "encode_varint",
    "encode_varint_field",
    "encode_view",
    "field_heads",
    "guards_from_proto",
    "guards_to_proto",
    "legal_actions_to_proto",
    "match_from_store",
    "options_from_proto",
    "options_to_proto",
    "phase_from_proto",
    "phase_to_proto",
    "replay_record",
    "result_from_proto",
    "result_to_proto",
    "small_fields",
    "to_card",
    "to_cards",
    "to_mask",
    "varint_tag",
    "view_from_proto",
    "view_to_proto",
]
