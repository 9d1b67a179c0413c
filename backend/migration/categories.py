"""The categories of a job: progressing, watching, converged (specon-procon.md sections 1.4 and 4.6)."""

from backend.model.events import Category


class Classifier:
    """The state machine of one job. Starts at progressing.

    On each score P:
    - P > alpha: progressing, from any category
    - else from progressing: watching, a grace of one more interval
    - else from watching: converged if P is less than the score before, or if this is the `patience`-th slow score in a
      row (0: no such limit); P equal to the score before is not converging further
    - else: unchanged
    P equal to alpha is slow. The trace of section 1.4 passes with patience off or at least 3.
    """

    __slots__ = ("category", "previous_score", "score", "slow")

    def __init__(self) -> None:
        self.category: Category = "progressing"
        self.score: float | None = None
        self.previous_score: float | None = None
        self.slow = 0
        """Slow scores in a row."""

    def observe(self, score: float, alpha: float, patience: int) -> bool:
        """Take a score; whether the category changed."""
        before = self.score
        self.previous_score = before
        self.score = score
        category = self.category
        if score > alpha:
            self.slow = 0
            if category == "progressing":
                return False
            self.category = "progressing"
            return True
        self.slow += 1
        if category == "progressing":
            self.category = "watching"
            return True
        if category == "watching" and ((before is not None and score < before) or (patience and self.slow >= patience)):
            self.category = "converged"
            return True
        return False

    def reason(self, alpha: float) -> str:
        """Why the category is what the last score made it, as one sentence."""
        score, before = self.score, self.previous_score
        if score is None:
            return "there is no score yet"
        if self.category == "progressing":
            return f"score {score:.3g} is above {alpha:g}"
        if self.category == "watching":
            return f"score {score:.3g} is not above {alpha:g}: one more interval of grace"
        if before is not None and score < before:
            return f"score {score:.3g} is still not above {alpha:g} and below the {before:.3g} before"
        return f"score {score:.3g} is the slow score number {self.slow} in a row (limit {alpha:g})"
