// Package job counts words on a log, with keys that plannerd moves between instances while
// messages come. See README.md.
package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"plannerd/examples/internal/trial"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/wire"
)

// config is what all roles know.
type config struct {
	transport              Transport
	address, plannerd, dir string
	program                string // of plannerd; empty: it is built
	routers, instances     int
	keys                   int
	zipf                   float64
	rate                   float64 // events a second, of all sources
	shift                  time.Duration
	swaps                  int // of hot keys, in a shift
	together               int // events of one transaction
	stateBytes             int
	interval               time.Duration
	theta                  float64
	batch                  int64 // keys of a batch of a plan
	follows                bool
	seed                   uint64
}

// defaults are the flags' defaults.
func defaults(t Transport) config {
	return config{transport: t, routers: 2, instances: 4, keys: 10_000, zipf: 0.9, rate: 5000,
		shift: 10 * time.Second, swaps: 100, together: 64, stateBytes: 100, interval: 2 * time.Second, theta: 0.05, seed: 1}
}

func (c *config) flags(f *flag.FlagSet) {
	f.StringVar(&c.address, "log", c.address, "the address of the log, for the processes that are started")
	f.StringVar(&c.plannerd, "plannerd", c.plannerd, "the address of plannerd; empty: one is built and started")
	f.StringVar(&c.dir, "dir", c.dir, "the folder for data; empty: a temporary one")
	f.IntVar(&c.routers, "routers", c.routers, "how many routers")
	f.IntVar(&c.instances, "instances", c.instances, "how many instances")
	f.IntVar(&c.keys, "keys", c.keys, "how many keys")
	f.Float64Var(&c.zipf, "zipf", c.zipf, "the exponent of Zipf's law")
	f.Float64Var(&c.rate, "rate", c.rate, "events a second")
	f.DurationVar(&c.shift, "shift", c.shift, "how often the hot keys change; 0: never")
	f.IntVar(&c.swaps, "swaps", c.swaps, "how many hot keys change places with any others when they change")
	f.IntVar(&c.together, "together", c.together, "how many events are appended, or counted, in one step")
	f.IntVar(&c.stateBytes, "state", c.stateBytes, "bytes of state of a key")
	f.DurationVar(&c.interval, "interval", c.interval, "how often plannerd is asked")
	f.Int64Var(&c.batch, "batch", c.batch, "how many keys move at once, in batches of a plan; 0: all of a plan")
	f.Float64Var(&c.theta, "theta", c.theta, "the imbalance that is allowed")
	f.BoolVar(&c.follows, "follow", c.follows, "messages of keys that move follow them, and are not held by routers")
	f.Uint64Var(&c.seed, "seed", c.seed, "of all that is random")
}

// arguments are the flags by which another process gets the same configuration.
func (c config) arguments() []string {
	f := flag.NewFlagSet("", flag.PanicOnError)
	c.flags(f)
	var out []string
	f.VisitAll(func(x *flag.Flag) { out = append(out, "-"+x.Name+"="+x.Value.String()) })
	return out
}

// operator is what plannerd is told of the job on so many instances.
func (c config) operator(instances int) wire.OperatorConfiguration {
	out := wire.OperatorConfiguration{ThetaMax: &c.theta, Hash: &wire.Hash{Function: new(wire.HashFunctionModulo)},
		// Nobody is here to approve of plans. After a crash an interval may have many times the
		// messages of others, beside which these would be too small to be acted upon.
		Approval: &wire.ApprovalOptions{Auto: new(wire.ApprovalAutoAlways), OnPending: new(wire.OnPendingReplace),
			MinStatistics: &wire.MinStatistics{CostShare: new(0.0)}}}
	out.Instances = wire.Numbered(instances)
	if c.batch > 0 {
		out.Batches = &wire.BatchBounds{Keys: &c.batch}
	}
	return out
}

// mode is what becomes of the messages of keys that move.
func (c config) mode() handoff.Mode { return handoff.Mode(c.follows) }

// Outcome is what a job did.
type Outcome struct {
	Messages     uint64
	Plans, Moved int
	killed       map[string]int // by step
}

// Run runs a job, or one process of it, as its flags say, and prints what came of it.
func Run(ctx context.Context, t Transport, out io.Writer, arguments ...string) (all Outcome, err error) {
	c := defaults(t)
	f := flag.NewFlagSet(filepath.Base(os.Args[0]), flag.ContinueOnError)
	c.flags(f)
	role := f.String("role", "", "router or instance: one process of those that are started")
	id := f.String("id", "", "its name or id")
	duration := f.Duration("duration", 40*time.Second, "for how long events come")
	kills := f.Int("kills", 0, "how many processes are killed meanwhile")
	removed := f.Int("removed", 0, "how many instances lose all their keys when half the time is over")
	if err := f.Parse(arguments); err != nil {
		return all, err
	}
	switch {
	case *role == "router":
		return all, runRouter(ctx, c, *id)
	case *role == "instance":
		n, err := strconv.Atoi(*id)
		if err != nil {
			return all, err
		}
		return all, runInstance(ctx, c, int32(n))
	case *removed < 0 || *removed >= c.instances:
		return all, fmt.Errorf("-removed is less than -instances, and not negative")
	}
	if all, err = runJob(ctx, c, *duration, *kills, *removed); err == nil {
		all.print(out)
	}
	return all, err
}

func (o Outcome) print(out io.Writer) {
	fmt.Fprintf(out, "%d messages, %d plans, %d states moved: nothing lost, doubled, reordered or misplaced\n",
		o.Messages, o.Plans, o.Moved)
	for _, step := range slices.Sorted(maps.Keys(o.killed)) {
		fmt.Fprintf(out, "%4d killed at %s\n", o.killed[step], step)
	}
}

// runJob runs the job, and checks in the end that nothing was lost.
func runJob(ctx context.Context, c config, duration time.Duration, kills, removed int) (Outcome, error) {
	var out Outcome
	err := withJob(ctx, c, func(j *job) error {
		log.Printf("dashboard: %s", j.plannerd)
		if kills > 0 {
			var end context.CancelFunc
			ctx, end = context.WithCancel(ctx)
			defer end()
			go j.killAtSteps(ctx, kills)
		}
		if err := j.load(ctx, duration/2); err != nil {
			return err
		}
		if removed > 0 {
			if err := j.configure(ctx, j.instances-removed); err != nil {
				return err
			}
		}
		if err := j.load(ctx, duration/2); err != nil {
			return err
		}
		if err := j.checkEmptied(ctx, removed); err != nil {
			return err
		}
		made, err := j.await(ctx)
		j.mu.Lock()
		defer j.mu.Unlock()
		out = Outcome{made, int(j.history.plans.Load()), j.monitor.moved(), j.killed}
		return err
	})
	return out, err
}

// withJob starts everything, does something with it, and stops it.
func withJob(ctx context.Context, c config, do func(*job) error) error {
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "job-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		c.dir = dir
	}
	var routers []string
	for r := range c.routers {
		routers = append(routers, routerName(r))
	}
	address, stop, err := c.transport.Start(ctx, filepath.Join(c.dir, "log"), routers, c.instances)
	if err != nil {
		return err
	}
	defer stop()
	c.address = address
	j := &job{config: c, processes: map[string]*exec.Cmd{}}
	defer j.stop()
	if c.plannerd == "" {
		if err := j.startPlannerd(ctx); err != nil {
			return err
		}
	}
	if err := j.configure(ctx, j.instances); err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	for _, router := range routers {
		j.startRole(ctx, executable, "router", router)
	}
	for i := range c.instances {
		j.startRole(ctx, executable, "instance", strconv.Itoa(i))
	}
	if j.bus, err = c.transport.Connect(ctx, j.address); err != nil {
		return err
	}
	defer j.bus.Close()
	if err := j.listen(); err != nil {
		return err
	}
	j.openSources()
	if j.drivers, err = newDrivers(ctx, j); err != nil {
		return err
	}
	defer j.drivers.stop()
	return do(j)
}

func routerName(r int) string { return fmt.Sprintf("router-%d", r) }

// job is everything that runs.
type job struct {
	config
	mu        sync.Mutex
	processes map[string]*exec.Cmd
	stopped   bool
	ended     sync.WaitGroup
	history   history
	bus       Bus
	sources   []*generator
	monitor   *monitor
	drivers   *drivers
	killed    map[string]int // how often, by step
	wrong     <-chan Message
	dumped    <-chan Message
	asked     int // for dumps
}

// startPlannerd starts plannerd on a free port of loopback.
func (j *job) startPlannerd(ctx context.Context) (err error) {
	if j.program == "" {
		if j.program, err = trial.BuildPlannerd(ctx, j.dir); err != nil {
			return err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	j.plannerd = "http://" + address
	j.start(ctx, "plannerd", j.program, "serve", "--listen="+address,
		"--database-url=sqlite:"+filepath.Join(j.dir, "plannerd.db"))
	return nil
}

func (j *job) startRole(ctx context.Context, program, role, id string) {
	j.start(ctx, role+" "+id, program, append([]string{"-role", role, "-id", id}, j.arguments()...)...)
}

// start keeps a process running: one that ends is started again.
func (j *job) start(ctx context.Context, name, program string, arguments ...string) {
	j.ended.Add(1)
	go func() {
		defer j.ended.Done()
		for {
			cmd := exec.CommandContext(ctx, program, arguments...)
			if name != "plannerd" {
				cmd.Stderr = log.Writer()
			}
			j.mu.Lock()
			if j.stopped || ctx.Err() != nil {
				j.mu.Unlock()
				return
			}
			err := cmd.Start()
			j.processes[name] = cmd
			j.mu.Unlock()
			if err != nil {
				log.Printf("%s: %v", name, err)
				return
			}
			_ = cmd.Wait() // killed, or gone: either way it comes again
			time.Sleep(100 * time.Millisecond)
		}
	}()
}

func (j *job) stop() {
	j.mu.Lock()
	j.stopped = true
	for _, cmd := range j.processes {
		_ = cmd.Process.Kill()
	}
	j.mu.Unlock()
	j.ended.Wait()
}

// kill kills one of the processes, if it runs.
func (j *job) kill(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if cmd := j.processes[name]; cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

// configure makes the operator, or changes it, with so many instances.
func (j *job) configure(ctx context.Context, instances int) error {
	api, err := client.New(j.plannerd, client.Config{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return patiently(ctx, func() error {
		_, err := api.PutOperator(ctx, operator, j.operator(instances))
		return err
	})
}

// listen listens to what the processes say.
func (j *job) listen() (err error) {
	j.monitor = newMonitor(j)
	if err := j.bus.Listen(liveSubject, j.monitor.take); err != nil {
		return err
	}
	if j.wrong, err = inbox(j.bus, 1000, wrongSubject); err != nil {
		return err
	}
	j.dumped, err = inbox(j.bus, 1000, dumpedSubject)
	return err
}

// openSources makes the sources of events, one for each router.
func (j *job) openSources() {
	for r := range j.routers {
		j.sources = append(j.sources, &generator{bus: j.bus, name: routerName(r), keys: newZipf(j.config, r),
			begin: time.Now(), numbers: map[string]uint64{}})
	}
}

// load lets events come for a time, and shows how it goes.
func (j *job) load(ctx context.Context, during time.Duration) error {
	var making sync.WaitGroup
	for _, g := range j.sources {
		making.Go(func() {
			if err := g.run(ctx, j.rate/float64(j.routers), during); err != nil && ctx.Err() == nil {
				log.Printf("source of %s: %v", g.name, err)
			}
		})
	}
	finished := make(chan struct{})
	go func() { making.Wait(); close(finished) }()
	for {
		select {
		case <-finished:
			return ctx.Err()
		case <-time.After(time.Second):
			j.monitor.print()
		}
	}
}

// await waits until everything that was made is counted, and checks where, and how often.
func (j *job) await(ctx context.Context) (made uint64, err error) {
	for _, g := range j.sources {
		made += g.made.Load()
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		counted, problem, err := j.check(ctx)
		switch {
		case err == nil && counted == made && problem == "":
			return made, j.complaint()
		case time.Now().After(deadline) && err != nil:
			return made, err
		case time.Now().After(deadline):
			return made, fmt.Errorf("%d events were made, %d counted; %s", made, counted, problem)
		}
		j.monitor.print()
		select {
		case <-ctx.Done():
			return made, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// complaint is the first that a process had.
func (j *job) complaint() error {
	select {
	case m := <-j.wrong:
		return errors.New(string(m.Content))
	default:
		return nil
	}
}

// dumps asks all instances for what they hold.
func (j *job) dumps(ctx context.Context) (map[int32]dump, error) {
	j.asked++
	if err := j.bus.Publish(dumpSubject, []byte(strconv.Itoa(j.asked))); err != nil {
		return nil, err
	}
	all := map[int32]dump{}
	late := time.After(5 * time.Second)
	for len(all) < j.instances {
		select {
		case m := <-j.dumped:
			var one dump
			if err := json.Unmarshal(m.Content, &one); err != nil {
				return nil, err
			}
			if one.Asked == j.asked {
				all[one.Instance] = one
			}
		case <-late:
			return nil, fmt.Errorf("%d of %d instances answered", len(all), j.instances)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return all, nil
}

// check asks all instances for their counts, and holds them against what was made and
// against the routes of the service.
func (j *job) check(ctx context.Context) (counted uint64, problem string, err error) {
	owner, counts := map[string]int{}, map[string]dumped{}
	dumps, err := j.dumps(ctx)
	if err != nil {
		return 0, "", err
	}
	for i := range j.instances {
		for key, here := range dumps[int32(i)].Keys {
			counted += here.N
			there, twice := counts[key]
			if twice {
				problem = fmt.Sprintf("%q is at instances %d and %d", key, owner[key], i)
			}
			owner[key], counts[key] = i, dumped{here.N + there.N, here.Last}
		}
	}
	numbers := map[string]uint64{} // of all sources
	for _, g := range j.sources {
		g.mu.Lock()
		for key, n := range g.numbers {
			numbers[key] += n
			if got := counts[key].Last[g.name]; got != n {
				problem = fmt.Sprintf("%q of %s: %d were made, %d counted", key, g.name, n, got)
			}
		}
		g.mu.Unlock()
	}
	for key, n := range numbers {
		if got := counts[key].N; got != n {
			problem = fmt.Sprintf("%q: %d were made, %d counted", key, n, got)
		}
	}
	if problem == "" {
		problem, err = j.checkRoutes(ctx, owner)
	}
	return counted, problem, err
}

// checkRoutes asks the service for the routes of some keys.
func (j *job) checkRoutes(ctx context.Context, owner map[string]int) (problem string, err error) {
	api, err := client.New(j.plannerd, client.Config{})
	if err != nil {
		return "", err
	}
	asked := 0
	for key, at := range owner {
		if asked++; asked > 500 {
			break
		}
		to, err := api.Route(ctx, operator, []byte(key))
		if err != nil {
			return "", err
		}
		if int(to.Instance) != at {
			return fmt.Sprintf("%q is at instance %d, and its route is %d", key, at, to.Instance), nil
		}
	}
	return "", nil
}

// checkEmptied demands that the instances that were removed have no keys any more.
func (j *job) checkEmptied(ctx context.Context, removed int) error {
	if removed == 0 {
		return nil
	}
	deadline := time.Now().Add(time.Minute)
	for {
		left := 0
		dumps, err := j.dumps(ctx)
		for i := j.instances - removed; i < j.instances; i++ {
			left += len(dumps[int32(i)].Keys)
		}
		switch {
		case err == nil && left == 0:
			return nil
		case time.Now().After(deadline) || ctx.Err() != nil:
			return cmp.Or(err, ctx.Err(), fmt.Errorf("instances that were removed have %d keys", left))
		}
		time.Sleep(500 * time.Millisecond)
	}
}
