package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/examples/internal/broker"
	"plannerd/examples/internal/trial"
	"plannerd/sdk/go/client"
)

// metadata is how often clients look for new partitions.
const metadata = 5 * time.Second

// service is what groups need beside their members: processes on loopback.
type service struct {
	broker   *broker.Broker
	dir      string
	classes  string // the class path of members on the JVM
	program  string // plannerd's
	address  string // plannerd's
	plannerd *exec.Cmd
	client   *kgo.Client
	admin    *kadm.Client
	api      *client.Client
}

// serve starts a broker and plannerd, with all that they have in a folder. The broker has more classes, which
// more of its properties name.
func serve(ctx context.Context, dir, properties string, classes ...string) (_ *service, err error) {
	s := &service{dir: dir}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.program, err = trial.BuildPlannerd(ctx, dir); err != nil {
		return nil, err
	}
	free, err := trial.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	s.address = free[0]
	// A broker that was killed is let in again once its session is over.
	const more = "group.initial.rebalance.delay.ms=1000\nbroker.session.timeout.ms=6000\n"
	properties = more + strings.ReplaceAll(properties, "PLANNERD", "http://"+s.address)
	if s.broker, err = broker.Start(ctx, filepath.Join(dir, "broker"), properties, classes...); err != nil {
		return nil, err
	}
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(s.broker.Address), kgo.MetadataMaxAge(metadata)); err != nil {
		return nil, err
	}
	s.admin = kadm.NewClient(s.client)
	if s.api, err = client.New("http://"+s.address, client.Config{}); err != nil {
		return nil, err
	}
	err = s.servePlannerd(ctx)
	return s, err
}

// servePlannerd starts plannerd, with the data that it had, and waits until it answers.
func (s *service) servePlannerd(ctx context.Context) (err error) {
	s.plannerd, err = s.start(ctx, "plannerd.log", s.program, "serve", "--listen", s.address, "--log-level", "warn",
		"--database-url", "sqlite:"+filepath.Join(s.dir, "plannerd.db"))
	for err == nil {
		if _, err := s.api.Readyz(ctx); err == nil {
			break
		}
		err = pause(ctx, 50*time.Millisecond)
	}
	return err
}

// control starts a controller of a group.
func (s *service) control(ctx context.Context, group string, every time.Duration, more ...string) (*exec.Cmd, error) {
	return s.start(ctx, "controller.log", s.program, append([]string{"kafka-group", "--brokers", s.broker.Address,
		"--group", group, "--server", "http://" + s.address, "--every", every.String()}, more...)...)
}

// start runs a program, whose output goes to a file.
func (s *service) start(ctx context.Context, output, program string, args ...string) (*exec.Cmd, error) {
	return s.startTo(ctx, nil, output, program, args...)
}

// startTo is start where what the program has to say goes elsewhere, and only its errors to the file.
func (s *service) startTo(
	ctx context.Context, to *os.File, output, program string, args ...string,
) (*exec.Cmd, error) {
	file, err := os.OpenFile(filepath.Join(s.dir, output), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	cmd.Stdout, cmd.Stderr = cmp.Or(to, file), file
	err = cmd.Start()
	return cmd, err
}

// end ends a process, and waits for its end.
func end(cmd *exec.Cmd, by os.Signal) {
	if cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Signal(by)
		_ = cmd.Wait()
	}
}

func (s *service) stop() {
	end(s.plannerd, syscall.SIGTERM)
	if s.client != nil {
		s.client.Close()
	}
	if s.broker != nil {
		s.broker.Stop()
	}
}

// pause waits, or returns the error of ctx before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
