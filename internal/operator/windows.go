package operator

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/planner"
	"plannerd/store"
)

// StartWindow is a time of the day, in UTC, in which plans may be started, on the days on which it begins.
type StartWindow struct {
	From string   `json:"from"` // 15:04
	To   string   `json:"to"`   // 15:04, or 24:00; not later than From: on the next day
	Days []string `json:"days,omitzero"`
}

// weekdays are the days of a [StartWindow], as [time.Weekday] numbers them.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// minutes are those of a time of the day since midnight.
func minutes(text string) time.Duration {
	var hour, minute int
	_, _ = fmt.Sscanf(text, "%d:%d", &hour, &minute) // the contract has checked it
	return time.Duration(60*hour+minute) * time.Minute
}

// checkWindows finds windows that begin when they end.
func (a ApprovalRule) checkWindows() error {
	for i, w := range a.Approval.StartWindows {
		if minutes(w.From) == minutes(w.To) {
			return planner.Invalid(fmt.Sprintf("approval/start_windows/%d/to", i), "must be another time than from")
		}
	}
	return nil
}

// StartsFrom is the first time, not before at, at which plans may be started.
func (a ApprovalRule) StartsFrom(at time.Time) time.Time {
	if len(a.Approval.StartWindows) == 0 {
		return at
	}
	var first time.Time
	midnight := at.UTC().Truncate(24 * time.Hour)
	for _, w := range a.Approval.StartWindows {
		from, to := minutes(w.From), minutes(w.To)
		if to <= from {
			to += 24 * time.Hour
		}
		for n := -1; n <= 7; n++ {
			day := midnight.AddDate(0, 0, n)
			begin := day.Add(from)
			switch {
			case len(w.Days) > 0 && !slices.Contains(w.Days, weekdays[day.Weekday()]), !day.Add(to).After(at):
				continue
			case !begin.After(at):
				return at
			case first.IsZero() || begin.Before(first):
				first = begin
			}
		}
	}
	return first
}

// StartsAt is from when on plans of an operator may be started that was read at that time, by its freeze and
// its windows; the zero time: now.
func StartsAt(op store.Operator, at time.Time) (time.Time, error) {
	from := at
	if op.Freeze != nil && op.Freeze.Until.After(at) {
		from = op.Freeze.Until
	}
	if bytes.Contains(op.Config, []byte(`"start_windows"`)) {
		var rule ApprovalRule
		if err := json.Unmarshal(op.Config, &rule); err != nil {
			return at, store.Unreadable("a stored configuration", err)
		}
		from = rule.StartsFrom(from)
	}
	if !from.After(at) {
		return time.Time{}, nil
	}
	return from.UTC(), nil
}
