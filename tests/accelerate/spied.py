"""Forms that tell when they are asked to work."""

from dataclasses import dataclass

from regard.attention import formula
from regard.attention.formula import AttendForm


@dataclass(frozen=True)
class Spied(AttendForm):
    """A form that notes its name each time, and works unless it is `idle`: then it gives the values back."""

    form: AttendForm
    names: list[str]
    idle: bool = False

    @property
    def shields(self):
        return self.form.shields

    @property
    def devices(self):
        return self.form.devices

    def takes(self, attention, query, memory, mask):
        return self.form.takes(attention, query, memory, mask)

    def attend(self, attention, query, memory, mask):
        self.names.append(type(self.form).__name__)
        if self.idle:
            return query.new_zeros(*query.shape[:3], memory.value.shape[-1])
        return self.form.attend(attention, query, memory, mask)


class Anything(AttendForm):
    """Stands for the formula."""

    def takes(self, attention, query, memory, mask):
        return True

    def attend(self, attention, query, memory, mask):
        return formula.context(attention, query, memory, mask)


def spied(forms, names, *, idle=False):
    """All of these forms, noting in `names` which of them worked."""
    return [Spied(form, names, idle) for form in forms]
