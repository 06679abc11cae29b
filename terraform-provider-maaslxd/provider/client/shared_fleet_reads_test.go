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

// TestFleetLooksAreShared counts the looks of many who ask.
func TestFleetLooksAreShared(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		after  []time.Duration // when each of them asks
		looks  int64
	}{
		"AtOnce":  {"Who asks at the same moment shares.", make([]time.Duration, 20), 1},
		"Soon":    {"Who comes before the look begins joins it.", []time.Duration{0, fleetJoinWindow / 2, fleetJoinWindow - 1}, 1},
		"TooLate": {"Who comes after it began may have made something since, and gets a look of its own.", []time.Duration{0, fleetJoinWindow + 1}, 2},
		"OneWaits": {
			"Those who come while one is under way share the next.",
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
					t.Errorf("%s\nthere were %d looks, want %d", tc.reason, n, tc.looks)
				}
			})
		})
	}
}

// TestFleetLookOutlivesItsFirst lets the one who began a look leave: the other
// still gets it.
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
