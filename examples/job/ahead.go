package job

import (
	"encoding/json"
	"log"
	"sync"
	"time"
)

// ahead bounds how many events of a router are on their way to an instance, as engines do
// that give credit to each channel. What is on its way to an instance that has too much to do
// is what a marker waits behind: everything else waits in the source, and goes by newer routes.
type ahead struct {
	most uint64 // 0: no bound

	mu      sync.Mutex
	epoch   int64            // of the router; what is said of another does not count
	sent    map[int32]uint64 // under this epoch, by instance
	taken   map[int32]uint64 // of these
	changed chan struct{}    // holds a token when something was taken
}

func newAhead(most uint64) *ahead { return &ahead{most: most, changed: make(chan struct{}, 1)} }

// begin begins an epoch.
func (a *ahead) begin(epoch int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epoch, a.sent, a.taken = epoch, map[int32]uint64{}, map[int32]uint64{}
}

// add counts events that are sent to an instance, and returns how many there were so far.
func (a *ahead) add(to int32, events int) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent[to] += uint64(events)
	return a.sent[to]
}

// isFull reports whether as many are on their way to some instance as may.
func (a *ahead) isFull() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for to, n := range a.sent {
		if a.most > 0 && n >= a.taken[to]+a.most {
			return true
		}
	}
	return false
}

// progress is how far an instance has come in the channel of a router: events that were
// appended under an epoch, and had their service time.
type progress struct {
	Epoch int64  `json:"epoch"`
	Taken uint64 `json:"taken"`
}

// told is what an instance tells of its channels, by router.
type told struct {
	Instance int32               `json:"instance"`
	Channels map[string]progress `json:"channels"`
}

// hear takes what an instance tells of the channel of a router.
func (a *ahead) hear(m Message, router string) {
	var t told
	if err := json.Unmarshal(m.Content, &t); err != nil {
		log.Printf("%s: %v", router, err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	own := t.Channels[router]
	if own.Epoch != a.epoch || own.Taken <= a.taken[t.Instance] {
		return
	}
	a.taken[t.Instance] = own.Taken
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// tellEvery is how often an instance tells how far it has come while it has more to do.
const tellEvery = 5 * time.Millisecond

// tell tells routers how far the instance has come. What they miss they hear the next time.
func (x *counter) tell() error {
	x.told = time.Now()
	return x.say(takenSubject, told{x.id, x.meta.Channels})
}
