package job

import (
	"math"
	"slices"
	"time"
)

// slack is by how much the work of an instance may be behind its pace without losing time.
const slack = 10 * time.Millisecond

// pacer gives each message its service time: an instance is free again when all that it
// took has had its time, one after the other. Its own work, the counting, is part of that
// time. Sleeping until a moment, and not for a while, makes up for sleeps that are too long:
// a message that waits meanwhile begins when the one before it should have ended. What is
// late by more than slack is lost, and so is all time in which nothing waits.
type pacer struct{ free time.Time }

// idle says that nothing waits.
func (p *pacer) idle() {
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
}

// work returns when so much more work is done.
func (p *pacer) work(d time.Duration) time.Time {
	if least := time.Now().Add(-slack); p.free.Before(least) {
		p.free = least
	}
	p.free = p.free.Add(d)
	return p.free
}

// histogram counts durations, each within 2 %: by the logarithm of its nanoseconds.
type histogram map[int]uint64

const perOctave = 32

func (h histogram) add(d time.Duration) {
	h[int(math.Round(math.Log2(float64(max(d, 1)))*perOctave))]++
}

func (h histogram) join(other histogram) {
	for at, n := range other {
		h[at] += n
	}
}

func (h histogram) count() (n uint64) {
	for _, x := range h {
		n += x
	}
	return n
}

// quantile is in milliseconds; 0 where nothing was counted.
func (h histogram) quantile(q float64) float64 {
	var places []int
	for at := range h {
		places = append(places, at)
	}
	slices.Sort(places)
	left := q * float64(h.count())
	for _, at := range places {
		if left -= float64(h[at]); left <= 0 {
			return math.Exp2(float64(at)/perOctave) / 1e6
		}
	}
	return 0
}

// pauses measures for how long keys wait.
type pauses struct {
	since map[string]time.Time
	took  histogram
}

func newPauses() pauses { return pauses{map[string]time.Time{}, histogram{}} }

// wait notes that a message of a key waits.
func (p *pauses) wait(key string) {
	if _, found := p.since[key]; !found {
		p.since[key] = time.Now()
	}
}

// goOn notes that a message of a key is on its way.
func (p *pauses) goOn(key string) {
	if len(p.since) == 0 {
		return
	}
	if since, found := p.since[key]; found {
		p.took.add(time.Since(since))
		delete(p.since, key)
	}
}
