"""Parts that pages share: functions that return components."""
