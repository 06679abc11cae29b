package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine/fleet"
)

// TestFleetLooksAreShared counts the reads of many callers.
func TestFleetLooksAreShared(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		after  []time.Duration // when each caller asks
		looks  int64
	}{
		"AtOnce":  {"Callers at the same moment share a read.", make([]time.Duration, 20), 1},
		"Soon":    {"A caller before the read begins joins it.", []time.Duration{0, fleetJoinWindow / 2, fleetJoinWindow - 1}, 1},
		"TooLate": {"A caller after the begin may have made something since, and gets a read of its own.", []time.Duration{0, fleetJoinWindow + 1}, 2},
		"OneWaits": {
			"Callers during a read share the next one.",
			[]time.Duration{0, fleetJoinWindow + 1, fleetJoinWindow * 2, fleetJoinWindow + time.Second}, 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var looks atomic.Int64
				l := newSharedFleetReads(func(context.Context) (fleet.Fleet, error) {
					looks.Add(1)
					time.Sleep(time.Second)
					return fleet.Fleet{Hosts: make([]fleet.Host, 1)}, nil
				})
				for _, after := range tc.after {
					go func() {
						time.Sleep(after)
						if fleet, err := l.read(t.Context()); len(fleet.Hosts) != 1 || err != nil {
							t.Errorf("got %v, %v", fleet, err)
						}
					}()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := looks.Load(); n != tc.looks {
					t.Errorf("%s\nthere were %d reads, want %d", tc.reason, n, tc.looks)
				}
			})
		})
	}
}

// TestFleetLookOutlivesItsFirst lets the caller who began a read leave: the other caller still
// gets its result.
func TestFleetLookOutlivesItsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newSharedFleetReads(func(ctx context.Context) (fleet.Fleet, error) {
			select {
			case <-time.After(time.Second):
				return fleet.Fleet{}, errors.New("the answer")
			case <-ctx.Done():
				return fleet.Fleet{}, ctx.Err()
			}
		})
		impatient, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		go func() {
			if _, err := l.read(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first got %v", err)
			}
		}()
		synctest.Wait()
		if _, err := l.read(t.Context()); err == nil || err.Error() != "the answer" {
			t.Errorf("the other got %v", err)
		}
		synctest.Wait()
	})
}
