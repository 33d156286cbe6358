// Command jetstream counts words on NATS JetStream, with keys that plannerd moves between
// instances while messages come. See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// config is what all roles know.
type config struct {
	nats, plannerd, dir string
	routers, instances  int
	keys                int
	zipf                float64
	rate                float64 // events a second, of all sources
	shift               time.Duration
	service             time.Duration // per event
	stateBytes          int
	interval            time.Duration
	theta               float64
	batch               int64 // keys of a batch of a plan
	idle                bool  // nothing is planned
}

func (c *config) flags(f *flag.FlagSet) {
	f.StringVar(&c.nats, "nats", "", "the address of the NATS server; empty: one is started")
	f.StringVar(&c.plannerd, "plannerd", "", "the address of plannerd; empty: one is built and started")
	f.StringVar(&c.dir, "dir", "", "the folder for data; empty: a temporary one")
	f.IntVar(&c.routers, "routers", 2, "how many routers")
	f.IntVar(&c.instances, "instances", 4, "how many instances")
	f.IntVar(&c.keys, "keys", 10_000, "how many keys")
	f.Float64Var(&c.zipf, "zipf", 0.9, "the exponent of Zipf's law")
	f.Float64Var(&c.rate, "rate", 5000, "events a second")
	f.DurationVar(&c.shift, "shift", 10*time.Second, "how often the hot keys change; 0: never")
	f.DurationVar(&c.service, "service", 100*time.Microsecond, "how long an event takes, beside its counting")
	f.IntVar(&c.stateBytes, "state", 100, "bytes of state of a key")
	f.DurationVar(&c.interval, "interval", 2*time.Second, "how often plannerd is asked")
	f.Int64Var(&c.batch, "batch", 0, "how many keys move at once, in batches of a plan; 0: all of a plan")
	f.BoolVar(&c.idle, "idle", false, "no keys are moved: all go by their hash")
	f.Float64Var(&c.theta, "theta", 0.05, "the imbalance that is allowed")
}

func main() {
	log.SetFlags(log.Ltime)
	var c config
	c.flags(flag.CommandLine)
	role := flag.String("role", "", "router or instance: one process of those that are started")
	id := flag.String("id", "", "its name or id")
	duration := flag.Duration("duration", 40*time.Second, "for how long events come")
	kills := flag.Int("kills", 0, "how many processes are killed meanwhile")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch *role {
	case "router":
		err = runRouter(ctx, c, *id)
	case "instance":
		var n int
		if n, err = strconv.Atoi(*id); err == nil {
			err = runInstance(ctx, c, int32(n))
		}
	default:
		var done outcome
		if done, err = runJob(ctx, c, *duration, *kills); err == nil {
			fmt.Printf("%d messages, %d plans, %d states moved: nothing lost, doubled, reordered or misplaced\n",
				done.messages, done.plans, done.moved)
		}
	}
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// outcome is what a job did.
type outcome struct {
	messages     uint64
	plans, moved int
}

// runJob starts everything, and checks in the end that nothing was lost.
func runJob(ctx context.Context, c config, duration time.Duration, kills int) (outcome, error) {
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "jetstream-")
		if err != nil {
			return outcome{}, err
		}
		defer os.RemoveAll(dir)
		c.dir = dir
	}
	server, err := startBus(ctx, filepath.Join(c.dir, "nats"))
	if err != nil {
		return outcome{}, err
	}
	defer server.Shutdown()
	c.nats = server.ClientURL()
	j := &job{config: c, processes: map[string]*exec.Cmd{}}
	defer j.stop()
	if c.plannerd == "" {
		if err := j.startPlannerd(ctx); err != nil {
			return outcome{}, err
		}
	}
	if err := j.configure(ctx); err != nil {
		return outcome{}, err
	}
	log.Printf("dashboard: %s", j.plannerd)
	executable, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	for r := range c.routers {
		j.startRole(ctx, executable, "router", routerName(r))
	}
	for i := range c.instances {
		j.startRole(ctx, executable, "instance", strconv.Itoa(i))
	}
	return j.run(ctx, duration, kills)
}

func routerName(r int) string { return fmt.Sprintf("router-%d", r) }

// job is everything that runs.
type job struct {
	config
	mu        sync.Mutex
	processes map[string]*exec.Cmd
	stopped   bool
	done      sync.WaitGroup
	history   history
}

// startPlannerd builds plannerd and starts it on a free port of loopback.
func (j *job) startPlannerd(ctx context.Context) error {
	program := filepath.Join(j.dir, "plannerd")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/plannerd")
	build.Dir = filepath.Join("..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building plannerd: %w\n%s", err, said)
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
	j.start(ctx, "plannerd", program, "serve", "--listen="+address,
		"--database-url=sqlite:"+filepath.Join(j.dir, "plannerd.db"))
	return nil
}

func (j *job) startRole(ctx context.Context, program, role, id string) {
	j.start(ctx, role+" "+id, program, "-role", role, "-id", id, "-nats", j.nats, "-plannerd", j.plannerd, "-dir", j.dir,
		"-routers", strconv.Itoa(j.routers), "-instances", strconv.Itoa(j.instances), "-service", j.service.String(),
		"-state", strconv.Itoa(j.stateBytes), "-interval", j.interval.String())
}

// start keeps a process running: one that ends is started again.
func (j *job) start(ctx context.Context, name, program string, arguments ...string) {
	j.done.Add(1)
	go func() {
		defer j.done.Done()
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
	j.done.Wait()
}

// kill kills one of the processes, if it runs.
func (j *job) kill(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if cmd := j.processes[name]; cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

func (j *job) names() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []string
	for name := range j.processes {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// configure makes the operator.
func (j *job) configure(ctx context.Context) error {
	api, err := client.New(j.plannerd, client.Config{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var instances []wire.Instance
	for i := range int32(j.instances) {
		instances = append(instances, wire.Instance{Id: i})
	}
	configuration := wire.OperatorConfiguration{
		Instances: instances, ThetaMax: &j.theta, Strategy: new(wire.Strategy("optimal")),
	}
	if j.batch > 0 {
		configuration.Batches = &wire.BatchBounds{Keys: &j.batch}
	}
	return patiently(ctx, func() error {
		_, err := api.PutOperator(ctx, operator, configuration)
		return err
	})
}

// run lets events come for a time, shows how it goes, and checks the counts.
func (j *job) run(ctx context.Context, duration time.Duration, kills int) (outcome, error) {
	b, err := connect(j.nats)
	if err != nil {
		return outcome{}, err
	}
	defer b.Close()
	wrong := make(chan string, 1000)
	m := newMonitor(j)
	for subject, take := range map[string]func([]byte){
		wrongSubject: func(text []byte) {
			select {
			case wrong <- string(text):
			default:
			}
		},
		liveSubject: m.take,
	} {
		if _, err := b.Subscribe(subject, natsHandler(take)); err != nil {
			return outcome{}, err
		}
	}
	drivers := newDrivers(ctx, j)
	defer drivers.stop()
	events := uint64(duration.Seconds() * j.rate / float64(j.routers))
	var sources []*generator
	var making sync.WaitGroup
	for r := range j.routers {
		g := &generator{config: j.config, name: routerName(r), numbers: map[string]uint64{}}
		sources = append(sources, g)
		making.Go(func() {
			if err := g.run(ctx, uint64(r+1), events); err != nil && ctx.Err() == nil {
				log.Printf("source %d: %v", r, err)
			}
		})
	}
	finished := make(chan struct{})
	go func() { making.Wait(); close(finished) }()
	if kills > 0 {
		go j.killSome(ctx, finished, duration, kills, drivers)
	}
	for going := true; going; {
		select {
		case <-finished:
			going = false
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		case <-time.After(time.Second):
			m.print()
		}
	}
	total, err := j.await(ctx, b, sources, m)
	if err != nil {
		return outcome{}, err
	}
	select {
	case text := <-wrong:
		return outcome{}, errors.New(text)
	default:
	}
	return outcome{total, int(j.history.plans.Load()), m.movedInAll()}, nil
}

// await waits until everything that was made is counted, and checks where, and how often.
func (j *job) await(ctx context.Context, b *bus, sources []*generator, m *monitor) (uint64, error) {
	made := uint64(0)
	for _, g := range sources {
		made += g.made.Load()
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		counted, problem, err := j.check(ctx, b, sources)
		switch {
		case err == nil && counted == made && problem == "":
			return made, nil
		case time.Now().After(deadline) && err != nil:
			return made, err
		case time.Now().After(deadline):
			return made, fmt.Errorf("%d events were made, %d counted; %s", made, counted, problem)
		}
		m.print()
		select {
		case <-ctx.Done():
			return made, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// check asks all instances for their counts, and holds them against what was made and
// against the routes of the service.
func (j *job) check(ctx context.Context, b *bus, sources []*generator) (counted uint64, problem string, err error) {
	owner, counts := map[string]int{}, map[string]map[string]uint64{}
	for i := range j.instances {
		answer, err := b.Request(fmt.Sprintf("%s.%d", dumpSubject, i), nil, 2*time.Second)
		if err != nil {
			return 0, "", err
		}
		var dump map[string]map[string]uint64
		if err := json.Unmarshal(answer.Data, &dump); err != nil {
			return 0, "", err
		}
		for key, last := range dump {
			if _, twice := owner[key]; twice {
				problem = fmt.Sprintf("%q is at instances %d and %d", key, owner[key], i)
			}
			owner[key], counts[key] = i, last
			for _, n := range last {
				counted += n
			}
		}
	}
	for r, g := range sources {
		g.mu.Lock()
		for key, n := range g.numbers {
			if got := counts[key][routerName(r)]; got != n {
				problem = fmt.Sprintf("%q of %s: %d were made, %d counted", key, routerName(r), n, got)
			}
		}
		g.mu.Unlock()
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
