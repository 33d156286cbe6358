package collecting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"plannerd/internal/cli"
	"plannerd/internal/cli/asking"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// KafkaGroup is the command that has a server balance a consumer group.
type KafkaGroup struct {
	Cluster
	Group     string        `required:"true" placeholder:"GROUP" help:"The consumer group."`
	Server    string        `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Where plannerd is (default http://127.0.0.1:8080)."`
	TokenFile string        `placeholder:"FILE" help:"The file that has the token for the server. It is read again for each request (default: the environment variable PLANNERD_TOKEN)."`
	Operator  string        `placeholder:"NAME" help:"The operator of the group. It is made if there is none (default: the name of the group)."`
	Every     time.Duration `placeholder:"DURATION" default:"30s" least:"1s" help:"How long an interval is (default 30s)."`
	Cost      string        `enum:"messages,bytes" default:"messages" help:"What a partition costs: the messages that arrived in the interval, or their bytes, by the mean of what its log has."`
	State     string        `enum:"one,lag,stores" default:"one" help:"What moving a partition costs: the same for each, its lag, or the bytes of the changelogs of its stores, in Kafka Streams."`
	DryRun    bool          `help:"Only say what would be done, also if the members have an assignor of plannerd."`
	Act       bool          `help:"Act also if no assignor of plannerd is seen: those of Kafka Streams cannot be."`
	GiveUp    time.Duration `placeholder:"DURATION" default:"2m" least:"1s" help:"After how long a plan is aborted that the group does not put into effect (default 2m)."`
}

// Run executes the command.
func (c *KafkaGroup) Run(env *cli.Environment) error {
	if c.Operator == "" {
		c.Operator = c.Group
	}
	options, err := c.options(env, "plannerd-kafka-group")
	if err != nil {
		return err
	}
	broker, err := kgo.NewClient(options...)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	defer broker.Close()
	server, err := asking.Server(env, "--server", c.Server, c.TokenFile, "kafka-group")
	if err != nil {
		return err
	}
	g := &controller{KafkaGroup: c, env: env, broker: broker, admin: kadm.NewClient(broker), server: server}
	return g.run(env.Ctx)
}

// controller has a server balance a group. All that must last is in the server and the broker.
type controller struct {
	*KafkaGroup
	env     *cli.Environment
	broker  *kgo.Client
	admin   *kadm.Client
	server  *client.Client
	epoch   int64  // of statistics and plans: higher than that of any controller before
	leads   bool   // it has taken over from those before
	standby bool   // another one leads
	heard   int64  // the last interval that came from the one that leads
	silent  int    // how many intervals this one has seen since
	before  *sight // of the interval before; nil: there is none
	flying  string // the plan that is carried out; "": none
	since   time.Time
	nudged  time.Time
	acked   map[int32]bool // of the batch that is handed over
	batch   int64
	said    string // what was said last
}

// executor is what plans call it.
const executor = "kafka-group"

// watched is how often the group is looked at while a plan is carried out.
const watched = time.Second

func (g *controller) run(ctx context.Context) error {
	if err := g.interval(ctx); err != nil { // whoever starts it sees what is wrong
		return err
	}
	plan, watch := time.NewTicker(g.Every), time.NewTicker(watched)
	defer plan.Stop()
	defer watch.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-plan.C:
			err = g.interval(ctx)
		case <-watch.C:
			err = g.follow(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, wire.CodeFenced):
			g.standby, g.flying, g.silent = true, "", 0
			g.say("another controller leads; this one stands by")
		case err != nil && lasting(err):
			return err
		case err != nil:
			g.say("%s; trying again", cli.OneLine(err.Error()))
		}
	}
}

// lasting are errors that trying again does not change.
func lasting(err error) bool {
	for _, code := range []wire.Code{wire.CodeUnauthenticated, wire.CodeRoleForbidden, wire.CodeOperatorForbidden} {
		if errors.Is(err, code) {
			return true
		}
	}
	return errors.As(err, new(*lostError))
}

// say tells what is new.
func (g *controller) say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != g.said {
		g.said = text
		fmt.Fprintf(g.env.Stderr, "plannerd: group %s: %s\n", g.Group, text)
	}
}

// interval ends an interval: it sends what arrived in it, and starts the plan that is approved.
func (g *controller) interval(ctx context.Context) error {
	now, err := g.see(ctx, g.admin, true)
	if err != nil {
		return err
	}
	before := g.before
	switch {
	case now.kind != "consumer" && len(now.members) > 0:
		return &lostError{fmt.Errorf("group %s is of the protocol type %q, not one of consumers", g.Group, now.kind)}
	case len(now.owners) == 0:
		g.before = nil
		g.say("it has no member with a partition; waiting")
		return nil
	case !now.stable(before):
		before.forget(now)
		g.say("it is rebalancing; waiting")
		return nil
	}
	if g.before = now; before == nil {
		g.say("%s with %s by the assignor %s; the first interval ends in %v", cli.Plural(len(now.names), "member"),
			cli.Plural(len(now.owners), "partition"), now.by, g.Every)
		return nil
	}
	of := now.since(before, time.Now().UnixNano()/int64(g.Every)-1, g.State != "one")
	if !g.acts(now) {
		return g.tell(ctx, now, of)
	}
	return g.post(ctx, now, of)
}

// acts tells whether plans are carried out, and not only told.
func (g *controller) acts(now *sight) bool { return !g.DryRun && (g.Act || now.by == asTable) }

// forget has the next interval begin now, with what members had before a rebalance.
func (s *sight) forget(now *sight) {
	if s != nil && now.ends != nil {
		s.ends = now.ends
	}
}

// takeOver has this controller lead, and finds what one before has left.
func (g *controller) takeOver(ctx context.Context, o *wire.Operator) error {
	g.epoch = time.Now().UnixMilli()
	if o.LastEpoch != nil {
		g.epoch = max(g.epoch, *o.LastEpoch+1)
	}
	g.leads, g.standby = true, false
	if o.CurrentPlan == nil || o.CurrentPlanStatus == nil {
		return nil
	}
	switch wire.PlanStatus(*o.CurrentPlanStatus) {
	case wire.PlanStatusApplying, wire.PlanStatusAborting:
		return g.start(ctx, *o.CurrentPlan)
	}
	return nil
}

// post sends statistics, and starts the plan that is approved, if there is one.
func (g *controller) post(ctx context.Context, now *sight, of *interval) error {
	o, err := g.configured(ctx, now)
	if err != nil {
		return err
	}
	if last := o.LastInterval; last != nil {
		// An interval that began a little late can have the number of the next one, by the clock.
		of.number = max(of.number, *last+1)
		if g.heard != *last {
			g.heard, g.silent = *last, 0
		}
	}
	if g.standby {
		if g.silent++; g.silent < 3 {
			return nil
		}
		g.say("no interval has come from the controller that led; this one leads")
	}
	if g.standby || !g.leads {
		if err := g.takeOver(ctx, o); err != nil {
			return err
		}
	}
	plan, err := g.server.CreatePlanFrom(ctx, g.Operator,
		wire.PlanRequest{Interval: of.number, Epoch: &g.epoch, ConfigVersion: &o.ConfigVersion},
		client.Statistics{Rows: client.Rows(nil), Count: len(of.order), Encoding: named{of}})
	if err != nil {
		return err
	}
	if plan.Status == wire.PlanStatusProposed {
		g.say("plan %s waits for approval", plan.Id)
	}
	if g.flying != "" {
		return nil
	}
	next, err := g.server.NextPlan(ctx, g.Operator, client.NextPlanOptions{})
	if err != nil || next.Plan == nil || next.Plan.Status != wire.PlanStatusApproved {
		return err
	}
	return g.start(ctx, next.Plan.Id)
}

// configured has the members be the operator's instances, and makes the operator where there is none.
func (g *controller) configured(ctx context.Context, now *sight) (*wire.Operator, error) {
	o, err := g.server.GetOperator(ctx, g.Operator, client.GetOperatorOptions{})
	if errors.Is(err, wire.CodeOperatorNotFound) {
		return g.server.PutOperator(ctx, g.Operator, newOperator(now), client.IfNoneMatch("*"))
	}
	if err != nil {
		return nil, err
	}
	if o.Hash == nil || o.Hash.Function == nil || *o.Hash.Function != wire.HashFunctionReported {
		return nil, &lostError{fmt.Errorf("operator %s is not one of a consumer group: its hash function must be reported",
			g.Operator)}
	}
	if instances, same := instancesOf(o, now.names); !same {
		return g.server.PatchOperator(ctx, g.Operator, wire.OperatorPatch{"instances": instances})
	}
	return o, nil
}

// instancesOf are the members as instances of an operator, and tells whether it has just these. Those that it
// does not know have of resources as much as its last one.
func instancesOf(o *wire.Operator, names []string) (instances wire.Instances, same bool) {
	known := map[string]wire.Instance{}
	var last *wire.InstanceCapacities
	for _, x := range o.Instances {
		known[x.Name], last = x, x.Capacities
	}
	instances, same = wire.Named(names...), len(names) == len(o.Instances)
	for i, x := range instances {
		if was, found := known[x.Name]; found {
			convert(was, &instances[i])
			instances[i].Id = nil
		} else {
			same, instances[i].Capacities = false, last
		}
	}
	return instances, same
}

// convert makes of what is answered what may be sent.
func convert(from, to any) {
	text, err := json.Marshal(from)
	if err = errors.Join(err, json.Unmarshal(text, to)); err != nil {
		panic(err) // the contract has one for the other
	}
}

// newOperator is the configuration of a group that nobody has configured.
func newOperator(s *sight) wire.OperatorConfiguration {
	return wire.OperatorConfiguration{Instances: wire.Named(s.names...),
		Hash: &wire.Hash{Function: new(wire.HashFunctionReported)}}
}

// start starts a plan, or takes it over, and asks a group of the newer protocol to assign anew.
func (g *controller) start(ctx context.Context, plan string) error {
	p, err := g.server.StartPlan(ctx, plan, wire.StartRequest{Executor: executor, ExecutorEpoch: &g.epoch})
	if errors.Is(err, wire.CodeLimitsChanged) || errors.Is(err, wire.CodeOutsideWindow) ||
		errors.Is(err, wire.CodeFrozen) || errors.Is(err, wire.CodeTransitionNotAllowed) {
		g.say("%s", cli.OneLine(err.Error()))
		return nil
	}
	if err != nil {
		return err
	}
	g.flying, g.since, g.nudged, g.batch, g.acked = plan, time.Now(), time.Time{}, 0, nil
	g.say("plan %s is started: it moves %s", plan, cli.Plural(p.Migration.Keys, "partition"))
	return g.follow(ctx)
}

// follow acknowledges the plan that is carried out for members that are as it says, and gives it up where
// that takes too long.
func (g *controller) follow(ctx context.Context) error {
	if g.flying == "" {
		return nil
	}
	table, err := g.server.GetRoutingTable(ctx, g.Operator, client.GetRoutingTableOptions{})
	if err != nil {
		return err
	}
	p := table.Pending
	if p == nil || p.Plan != g.flying {
		g.say("plan %s has ended after %v", g.flying, time.Since(g.since).Round(time.Second))
		g.flying = ""
		return nil
	}
	if p.ExecutorEpoch > g.epoch {
		return fmt.Errorf("plan %s: %w", g.flying, wire.CodeFenced)
	}
	if p.Phase == wire.PendingTablePhaseAborting {
		return g.abort(ctx, "")
	}
	if g.batch != p.Batch {
		g.batch, g.acked, g.since = p.Batch, map[int32]bool{}, time.Now()
	}
	now, err := g.see(ctx, g.admin, false)
	if err != nil {
		return err
	}
	if now.newer && time.Since(g.nudged) > 10*time.Second {
		g.nudged = time.Now()
		if err := g.nudge(ctx, now); err != nil {
			return g.explainOf(g.Group, "", err)
		}
	}
	return g.judge(ctx, p, now)
}

// judge acknowledges for the instances that are as a hand-over says, or aborts it.
func (g *controller) judge(ctx context.Context, p *wire.PendingTable, now *sight) error {
	names, open, gone := map[int32]string{}, map[int32]bool{}, ""
	for _, x := range p.Instances {
		names[x.Id] = x.Name
	}
	at := map[string]string{}
	for x, owner := range now.owners {
		at[now.key(x)] = owner
	}
	ids := map[string]int32{}
	for id, name := range names {
		ids[name] = id
	}
	for _, e := range *p.Set {
		owner, to := at[e.Key], names[e.Instance]
		if owner == to {
			continue
		}
		open[e.Instance] = true
		if from, known := ids[owner]; known {
			open[from] = true
		}
		if now.state == "Stable" && !slices.Contains(now.names, to) {
			gone = to
		}
	}
	var done []int32
	for _, id := range p.Awaits {
		if !open[id] && !g.acked[id] && (now.state == "Stable" || now.state == "Assigning" || now.newer) {
			done = append(done, id)
		}
	}
	if len(done) > 0 {
		ack := wire.AckRequest{Instances: wire.IDs(done...), ExecutorEpoch: &g.epoch, Batch: &p.Batch}
		if _, err := g.server.AckPlan(ctx, p.Plan, ack); err != nil && !errors.Is(err, wire.CodeTransitionNotAllowed) {
			return err
		}
		for _, id := range done {
			g.acked[id] = true
		}
	}
	switch {
	case gone != "":
		return g.abort(ctx, "member "+gone+" has left")
	case len(open) > 0 && time.Since(g.since) > g.GiveUp:
		return g.abort(ctx, fmt.Sprintf("the group is not as planned after %v", g.GiveUp))
	}
	return nil
}

// abort gives up the plan that is carried out. The next statistics say where partitions are.
func (g *controller) abort(ctx context.Context, reason string) error {
	if reason != "" {
		g.say("plan %s is aborted: %s", g.flying, reason)
	}
	for _, back := range []bool{false, true} {
		_, err := g.server.AbortPlan(ctx, g.flying, wire.AbortRequest{ExecutorEpoch: &g.epoch, RolledBack: &back,
			Reason: &reason})
		if err != nil && !errors.Is(err, wire.CodeTransitionNotAllowed) {
			return err
		}
	}
	return nil
}

// nudge has the coordinator of a group of the newer protocol assign anew: a member joins and leaves.
func (g *controller) nudge(ctx context.Context, now *sight) error {
	request := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	request.Group, request.InstanceID, request.RebalanceTimeoutMillis = g.Group, new(nudger), 5000
	request.MemberID = fmt.Sprintf("%s-%d", nudger, g.epoch)
	for p := range now.owners {
		request.SubscribedTopicNames = []string{p.topic}
		break
	}
	request.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, epoch := range []int32{0, -1} {
		request.MemberEpoch = epoch
		answer, err := request.RequestWith(ctx, g.broker)
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tell says what would be done, and does nothing.
func (g *controller) tell(ctx context.Context, now *sight, of *interval) error {
	configuration := newOperator(now)
	o, err := g.server.GetOperator(ctx, g.Operator, client.GetOperatorOptions{})
	switch {
	case err == nil:
		convert(o, &configuration)
		configuration.Instances, _ = instancesOf(o, now.names)
	case !errors.Is(err, wire.CodeOperatorNotFound):
		return err
	}
	request := wire.WhatIfRequest{Operator: configuration, Plans: new(true)}
	for _, key := range of.order {
		s := of.keys[key]
		row := wire.Row{Key: key, Cost: &s.cost, Instance: new(wire.InstanceRef(s.instance))}
		if !of.stateless {
			row.State = &s.state
		}
		request.Keys = append(request.Keys, row)
	}
	answer, err := g.server.WhatIf(ctx, request)
	if err != nil {
		return err
	}
	if !g.DryRun {
		g.say("nothing is done: the assignor is %q, and none of plannerd", now.by)
	}
	return g.env.People(g.env.Stdout, func(w *cli.Page) { g.write(w, now, &answer.Results[0]) })
}

// write says in two sentences and a table what a plan would do.
func (g *controller) write(w *cli.Page, now *sight, r *wire.WhatIfResult) {
	names, busiest, total := map[int32]string{}, r.Instances[0], 0.0
	for _, x := range r.Instances {
		names[x.Id] = x.Name
		total += x.LoadBefore
		if x.LoadBefore/x.Capacity > busiest.LoadBefore/busiest.Capacity {
			busiest = x
		}
	}
	moves := r.Plan.Migrations
	fmt.Fprintf(w, "The busiest of %s, %s, got %.2f times its share of %s %s in %v. ",
		cli.Plural(len(now.names), "member"), busiest.Name, 1+r.Theta.Before, cli.SI(total), g.Cost, g.Every)
	if len(moves) == 0 {
		fmt.Fprintf(w, "plannerd would leave all as it is.\n")
		return
	}
	fmt.Fprintf(w, "plannerd would move %s of %s, and nobody would get more than %.2f times.\n",
		cli.Integer(len(moves)), cli.Plural(len(now.owners), "partition"), 1+r.Theta.After)
	rows := make([][]string, 0, len(moves))
	for _, m := range moves {
		rows = append(rows, []string{m.Key, cli.SI(m.Cost), names[m.From], names[m.To]})
	}
	cli.WriteTable(w, []cli.Column{cli.Keys("partition"), cli.Number(g.Cost), cli.Text("from"), cli.Text("to")}, rows)
}
