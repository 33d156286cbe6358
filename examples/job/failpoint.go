package job

import (
	"context"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The steps at which a process may be told to die, by its role. Plannerd dies at those of the
// driver.
var steps = map[string][]string{
	"router": {"registered", "table read", "before markers", "markers appended", "before release", "released",
		"message held", "frames sent", "frames appended"},
	"instance": {"frame, not durable", "frame, durable", "marker, not durable", "marker, durable",
		"exports, not durable", "exports, durable", "import, not durable", "import, durable", "ends sent",
		"before acknowledgement", "acknowledgement sent", "plan's end, not durable", "plan's end, durable"},
	"driver":   driverSteps,
	"plannerd": driverSteps,
}

var driverSteps = []string{"plan made", "started", "before acknowledgement", "acknowledged", "takes over"}

// startSteps are those that a process comes to when it has been started again only.
var startSteps = []string{"registered", "table read", "takes over"}

// failpoint kills a process at a step, once it is told so.
type failpoint struct {
	bus  Bus
	name string
	step atomic.Pointer[string]
	die  func() // nil: the process kills itself
}

// newFailpoint listens to what a process is told. Of a step right after its start it was told
// before, by a file.
func newFailpoint(c config, b Bus, name string) (*failpoint, error) {
	d := &failpoint{bus: b, name: name}
	file := c.failpointFile(name)
	if step, err := os.ReadFile(file); err == nil {
		d.step.Store(new(string(step)))
		if err := os.Remove(file); err != nil {
			return nil, err
		}
	}
	err := d.listen()
	return d, err
}

func (c config) failpointFile(name string) string { return filepath.Join(c.dir, "die."+name) }

func (d *failpoint) listen() error {
	return d.bus.Listen(dieSubject+"."+d.name, func(m Message) { d.step.Store(new(string(m.Content))) })
}

// at is called at each step. Of a process that dies it does not return; the driver, which is
// none, is stopped.
func (d *failpoint) at(step string) {
	told := d.step.Load()
	if told == nil || *told != step {
		return
	}
	d.step.Store(nil)
	role, _, _ := strings.Cut(d.name, ".")
	_ = d.bus.Publish(diedSubject, []byte(role+": "+step))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.bus.Flush(ctx)
	if d.die != nil {
		d.die()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// patience is how long a step is waited for at which a process is told to die: what does
// not happen meanwhile is given up.
const patience = 1500 * time.Millisecond

// killAtSteps has processes kill themselves at steps of the protocol, so often, and plannerd
// at those of the driver. It counts them by step.
func (j *job) killAtSteps(ctx context.Context, kills int) {
	died, err := inbox(j.bus, 16, diedSubject)
	if err != nil {
		log.Printf("kills: %v", err)
		return
	}
	r := rand.New(rand.NewPCG(j.seed, uint64(kills)))
	names := map[string][]string{"driver": {"driver"}, "plannerd": {"plannerd"}}
	for i := range j.routers {
		names["router"] = append(names["router"], "router."+routerName(i))
	}
	for i := range j.instances {
		names["instance"] = append(names["instance"], "instance."+strconv.Itoa(i))
	}
	var all [][2]string // roles and their steps
	for _, role := range slices.Sorted(maps.Keys(steps)) {
		for _, step := range steps[role] {
			all = append(all, [2]string{role, step})
		}
	}
	for n := 0; n < kills; {
		for _, i := range r.Perm(len(all)) { // all steps come in turn
			role, step := all[i][0], all[i][1]
			victim := names[role][r.IntN(len(names[role]))]
			_ = j.bus.Publish(dieSubject+"."+victim, []byte(step))
			if slices.Contains(startSteps, step) {
				if role == "router" {
					_ = os.WriteFile(j.failpointFile(victim), []byte(step), 0o600)
					j.kill(strings.Replace(victim, ".", " ", 1))
				} else {
					role = "driver"
					j.drivers.kill()
				}
				n++
				j.count(role + ": at any time")
			}
			select {
			case m := <-died:
				n++
				j.count(string(m.Content))
				sleep(ctx, time.Duration(r.Float64()*float64(500*time.Millisecond)))
			case <-time.After(patience):
				_ = j.bus.Publish(dieSubject+"."+victim, nil)
			case <-ctx.Done():
			}
			if n >= kills || ctx.Err() != nil {
				return
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// count counts a kill.
func (j *job) count(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.killed == nil {
		j.killed = map[string]int{}
	}
	j.killed[what]++
}
