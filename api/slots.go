package api

import "context"

// take waits for a slot. The function it returns gives the slot back.
func take(ctx context.Context, slots chan struct{}) (release func(), err error) {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release = func() { <-slots }
	if ctx.Err() != nil { // both may have been ready
		release()
		return nil, ctx.Err()
	}
	return release, nil
}
