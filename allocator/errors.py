"""What may go wrong in the allocator, as facts."""

from __future__ import annotations

from plumbing.errors import Conflict, DomainError, Forbidden, Invalid

# A device that fails one of these never takes the wish, whatever ends on it.
FOR_GOOD = frozenset({
    "impossible_shape", "other_device", "other_kind", "other_model", "other_pool", "other_site", "isolation",
    "larger_than_device",
})  # fmt: skip


class DoesNotFit(DomainError):
    """No device takes the wish. `data`: constraints {name: devices}, next_free_at, nearest [slices], alternatives."""

    code = "no_capacity"
    status = 409
    title = "No device has room for this slice at that time."

    @property
    def may_come_free(self) -> bool:
        """Whether waiting may help: some device is only busy or away, or there is none at all yet."""
        counts = self.data.get("constraints")
        return not isinstance(counts, dict) or not counts or not FOR_GOOD.issuperset(counts)


class NameTaken(Conflict):
    code = "name_taken"
    title = "That name is in use."


class StillUsed(Conflict):
    code = "still_used"
    title = "Something refers to it."


class BadTopology(Invalid):
    """`problems` names each entry that is wrong."""

    code = "bad_topology"
    title = "The topology does not describe these nodes."


class PolicyNotAllowed(Invalid):
    code = "policy_not_allowed"
    title = "The operator of that pool does not let a wish choose its policy."


class LeaseLost(Conflict):
    """The lease changed between being read and being written, or is fenced off."""

    code = "lease_lost"
    title = "The lease is in another state by now."


class LeaseNotReady(Conflict):
    code = "lease_not_ready"
    title = "The lease is not ready: nothing can be started in it."


class TooManyExecs(Conflict):
    code = "too_many_execs"
    title = "As many programs run in this lease through the server as may at a time."


class ExecUnavailable(DomainError):
    """Programs on a tenant's own node (`vxpu run`) do not need it."""

    code = "exec_unavailable"
    status = 503
    title = "Valkey cannot be reached; nothing can be started or read through the server."


class HoldLapsed(Conflict):
    code = "hold_lapsed"
    title = "The hold lapsed before it was confirmed."


class BadEnrolment(DomainError):
    """Unknown, used and expired tokens give the same answer."""

    code = "bad_enrolment_token"
    status = 401
    title = "The one-time token is unknown, used or expired."


class NodeExists(Conflict):
    code = "node_exists"
    title = "That machine is enrolled already and is online."


class BadNodeToken(DomainError):
    code = "bad_node_token"
    status = 401
    title = "The node token is not valid."


class NodeRevoked(Forbidden):
    code = "node_revoked"
    title = "This node's enrolment was revoked."


class NodeLeftFleet(Conflict):
    code = "node_left_fleet"
    title = "The node was revoked: it is no part of the fleet any more."


class NodeIsDraining(Conflict):
    code = "node_is_draining"
    title = "The node is in maintenance: its cordon ends with that."


class BadSignature(DomainError):
    code = "bad_signature"
    status = 401
    title = "The signature does not match the body as sent."


class BatchTooLarge(DomainError):
    code = "batch_too_large"
    status = 413
    title = "The usage batch is too large."


class BadBatch(Invalid):
    code = "bad_batch"
    title = "The usage batch cannot be read."


class IllegalPeriod(Invalid):
    code = "illegal_period"
    title = "The period does not allow this change."


class ReviewClosed(Conflict):
    code = "review_closed"
    title = "This window is not waiting for a review."


class BadMessage(Invalid):
    """`errors` names each field, as elsewhere."""

    code = "bad_message"
    title = "The message is not one that this door takes."


class LeaseMoving(Conflict):
    code = "lease_moving"
    title = "The lease is being moved to another device: nothing else of it can be changed meanwhile."


class MoveChanged(Conflict):
    """The move is in another state than was read, or it is not the time for this step."""

    code = "move_changed"
    title = "The move is in another state by now."


class CannotMove(Conflict):
    """The move ends here; the old lease runs on."""

    code = "cannot_move"
    title = "The lease cannot be moved."


class NothingToMove(Conflict):
    code = "nothing_to_move"
    title = "There is no plan of moves for this."


class BadSimulation(Invalid):
    code = "bad_simulation"
    status = 400
    title = "The simulation is not possible as asked."


class TooManySimulations(Conflict):
    code = "too_many_simulations"
    title = "As many simulations are waiting or running as may at a time."
