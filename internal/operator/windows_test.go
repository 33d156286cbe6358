package operator

import (
	"testing"
	"time"

	"plannerd/store"
)

// TestStartsFrom: windows of every day and of some days, and such as end on the next day.
func TestStartsFrom(t *testing.T) {
	night := StartWindow{From: "02:00", To: "04:00"}
	late := StartWindow{From: "23:00", To: "01:00", Days: []string{"sat"}}
	whole := StartWindow{From: "00:00", To: "24:00", Days: []string{"sun", "wed"}}
	for _, c := range []struct {
		windows  []StartWindow
		at, want string // 2026-11-28 is a Saturday
	}{
		{nil, "2026-11-28 12:00", "2026-11-28 12:00"},
		{[]StartWindow{night}, "2026-11-28 01:59", "2026-11-28 02:00"},
		{[]StartWindow{night}, "2026-11-28 02:00", "2026-11-28 02:00"},
		{[]StartWindow{night}, "2026-11-28 03:59", "2026-11-28 03:59"},
		{[]StartWindow{night}, "2026-11-28 04:00", "2026-11-29 02:00"},
		{[]StartWindow{late}, "2026-11-28 12:00", "2026-11-28 23:00"},
		{[]StartWindow{late}, "2026-11-29 00:59", "2026-11-29 00:59"},
		{[]StartWindow{late}, "2026-11-29 01:00", "2026-12-05 23:00"},
		{[]StartWindow{late}, "2026-11-28 00:30", "2026-11-28 23:00"},
		{[]StartWindow{late, night}, "2026-11-29 01:00", "2026-11-29 02:00"},
		{[]StartWindow{whole}, "2026-11-29 00:00", "2026-11-29 00:00"},
		{[]StartWindow{whole}, "2026-11-30 00:00", "2026-12-02 00:00"},
		{[]StartWindow{whole}, "2026-12-03 07:00", "2026-12-06 00:00"},
	} {
		at, _ := time.Parse("2006-01-02 15:04", c.at)
		rule := ApprovalRule{Approval: ApprovalOptions{StartWindows: c.windows}}
		if got := rule.StartsFrom(at).Format("2006-01-02 15:04"); got != c.want {
			t.Errorf("%v at %s: %s, not %s", c.windows, c.at, got, c.want)
		}
	}
}

// TestStartsAt: a freeze and windows together keep plans back until both are over.
func TestStartsAt(t *testing.T) {
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	op := store.Operator{Config: []byte(`{"approval":{"start_windows":[{"from":"02:00","to":"04:00"}]}}`)}
	check := func(want string) {
		t.Helper()
		got, err := StartsAt(op, at)
		if err != nil || got.Format("02 15:04") != want {
			t.Errorf("%v, %v; not %s", got, err, want)
		}
	}
	check("01 00:00") // the zero time: now
	op.Freeze = &store.Freeze{Until: at.Add(30 * time.Minute)}
	check("28 03:30")
	op.Freeze.Until = at.Add(2 * time.Hour)
	check("29 02:00")
	op.Config = []byte(`{}`)
	check("28 05:00")
	op.Freeze.Until = at
	check("01 00:00")
}
