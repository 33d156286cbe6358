package planning

import "context"

// slots bound how many things that keep a processor busy are done at the same time.
type slots chan struct{}

// take waits for a slot. The function it returns gives the slot back.
func (s slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release = func() { <-s }
	if ctx.Err() != nil { // both may have been ready
		release()
		return nil, ctx.Err()
	}
	return release, nil
}
