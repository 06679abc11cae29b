package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script returns a step that plays the given results one after the other and
// repeats the last.
func script(steps ...func() (Result[string], error)) (step func(context.Context) (Result[string], error), calls *int) {
	calls = new(int)
	return func(context.Context) (Result[string], error) {
		s := steps[min(*calls, len(steps)-1)]
		*calls++
		return s()
	}, calls
}

func stepSeeing(object string, done bool, after time.Duration) func() (Result[string], error) {
	return func() (Result[string], error) {
		return Result[string]{Object: object, Done: done, After: after, Reason: "Working", Message: "hard at it", SystemID: "abc123"}, nil
	}
}

func stepFailing(err error) func() (Result[string], error) {
	return func() (Result[string], error) { return Result[string]{}, err }
}

// stepUntilCancelled is a step that the end of ctx cuts off.
func stepUntilCancelled(ctx context.Context) (Result[string], error) {
	<-ctx.Done()
	return Result[string]{}, ctx.Err()
}

func TestWaitUntilDone(t *testing.T) {
	permanent := fmt.Errorf("no such zone: %w", ErrInvalid)
	passing := fmt.Errorf("rack is away: %w", ErrUnavailable)
	cases := map[string]struct {
		reason  string
		steps   []func() (Result[string], error)
		want    string
		err     error
		calls   int
		elapsed func(time.Duration) bool
	}{
		"DoneAtOnce": {
			reason: "A step that is done is not repeated.",
			steps:  []func() (Result[string], error){stepSeeing("a", true, 0)},
			want:   "a", calls: 1,
			elapsed: func(d time.Duration) bool { return d == 0 },
		},
		"SleepsAfter": {
			reason: "Between two steps it sleeps for as long as the step said.",
			steps:  []func() (Result[string], error){stepSeeing("a", false, 7*time.Second), stepSeeing("b", true, 0)},
			want:   "b", calls: 2,
			elapsed: func(d time.Duration) bool { return d == 7*time.Second },
		},
		"TerminalEndsAtOnce": {
			reason: "What no repetition mends is returned at once, with the object seen before.",
			steps:  []func() (Result[string], error){stepSeeing("a", false, time.Second), stepFailing(permanent)},
			want:   "a", err: permanent, calls: 2,
			elapsed: func(d time.Duration) bool { return d == time.Second },
		},
		"PassingFailureIsRetried": {
			reason: "A failure that may pass is retried with a pause.",
			steps:  []func() (Result[string], error){stepFailing(passing), stepFailing(passing), stepSeeing("a", true, 0)},
			want:   "a", calls: 3,
			elapsed: func(d time.Duration) bool { return d >= 1500*time.Millisecond && d <= 3*time.Second },
		},
		"PatienceEnds": {
			reason: "Failures without end are returned once they last longer than MAAS composes on.",
			steps:  []func() (Result[string], error){stepFailing(passing)},
			err:    passing, calls: -1,
			elapsed: func(d time.Duration) bool { return d > failureTimeout && d < failureTimeout+2*maxBackoff },
		},
		"BusyInTheEnd": {
			reason: "What failed is told, also where others are in the way in the end.",
			steps:  []func() (Result[string], error){stepFailing(passing), stepFailing(fmt.Errorf("room is taken: %w", ErrBusy))},
			err:    passing, calls: -1,
			elapsed: func(d time.Duration) bool { return d > failureTimeout && d < failureTimeout+2*maxBackoff },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				step, calls := script(tc.steps...)
				got, err := WaitUntilDone(t.Context(), step)
				if got != tc.want || !errors.Is(err, tc.err) {
					t.Errorf("%s\nWait() = %q, %v; want %q, %v", tc.reason, got, err, tc.want, tc.err)
				}
				if tc.calls >= 0 && *calls != tc.calls {
					t.Errorf("%s\nsteps: got %d, want %d", tc.reason, *calls, tc.calls)
				}
				if d := time.Since(start); !tc.elapsed(d) {
					t.Errorf("%s\nelapsed: %s", tc.reason, d)
				}
			})
		})
	}
}

// TestWaitEndsWithContext: a step that needs no call to say that it goes on
// does not keep Wait from ending.
func TestWaitEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	step, calls := script(stepSeeing("a", false, time.Second))
	if got, err := WaitUntilDone(ctx, step); got != "a" || !errors.Is(err, context.Canceled) || *calls != 1 {
		t.Errorf("Wait() = %q, %v after %d steps", got, err, *calls)
	}
}

func TestWaitWakesWhenChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(changed) })
		start := time.Now()
		first := true
		_, err := WaitUntilDone(t.Context(), func(context.Context) (Result[string], error) {
			if first {
				first = false
				return Result[string]{After: time.Minute, Changed: changed}, nil
			}
			return Result[string]{Done: true}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("a change after 3 s was noticed after %s", d)
		}
	})
}

func TestWaitSaysWhatItWaitedFor(t *testing.T) {
	cases := map[string]struct {
		reason string
		steps  []func() (Result[string], error)
		words  []string
	}{
		"Working": {
			reason: "A timeout names what was going on.",
			steps:  []func() (Result[string], error){stepSeeing("a", false, time.Second)},
			words:  []string{"the time is up", "Working", "hard at it"},
		},
		"Failing": {
			reason: "A timeout amid failures names the last one.",
			steps:  []func() (Result[string], error){stepFailing(errors.New("rack is away"))},
			words:  []string{"the time is up", "rack is away"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				step, calls := script(tc.steps...)
				_, err := WaitUntilDone(ctx, func(ctx context.Context) (Result[string], error) {
					if *calls >= 3 {
						return stepUntilCancelled(ctx)
					}
					return step(ctx)
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s\ngot %v, want a deadline error", tc.reason, err)
				}
				for _, word := range tc.words {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s\n%q does not say %q", tc.reason, err, word)
					}
				}
			})
		})
	}
}

// TestScarcityCountsFromScarcity: a wait for something else takes nothing of the
// time that is given to a lack of room.
func TestScarcityCountsFromScarcity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failureStreak
		short := &Error{Type: InsufficientResources}
		if _, over := f.nextPause(0, ErrBusy); over {
			t.Fatal("the first failure ends the waiting")
		}
		time.Sleep(25 * time.Second)
		if _, over := f.nextPause(0, short); over {
			t.Error("the first lack of room ends the waiting, as something else had failed for 25 s")
		}
		time.Sleep(noRoomTimeout + time.Second)
		if _, over := f.nextPause(0, short); !over {
			t.Error("room has been missing for longer than scarcity, and the waiting goes on")
		}
	})
}

// TestRoomThatLeavesIsWaitedFor: missing room ends the waiting only when nobody leaves any.
func TestRoomThatLeavesIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failureStreak
		short := &Error{Type: InsufficientResources}
		for _, err := range []error{short, fmt.Errorf("%w; %w", short, ErrRoomLeaving), ErrBusy, short} {
			if _, over := f.nextPause(0, err); over {
				t.Errorf("%v ends the waiting", err)
			}
			time.Sleep(noRoomTimeout + time.Second)
		}
		if _, over := f.nextPause(0, short); !over {
			t.Error("room is missing and nobody leaves any, and the waiting goes on")
		}
	})
}

// TestWaitTells watches a wait: each change of the phase is told, and a phase that lasts
// about every half minute.
func TestWaitTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		begun := time.Now()
		step := func(context.Context) (Result[string], error) {
			res := Result[string]{Object: "a", SystemID: "abc", Reason: "Commissioning", Message: "Powering on", After: 10 * time.Second}
			if lasted := time.Since(begun); lasted >= 75*time.Second {
				res.Reason, res.Message, res.Done = "Deploying", "", lasted >= 90*time.Second
			}
			return res, nil
		}
		var told []string
		if _, err := WaitUntilDone(ctx, step, func(p Progress) { told = append(told, p.String()) }); err != nil {
			t.Fatal(err)
		}
		want := "Commissioning: Powering on; 10m0s left\nCommissioning for 30s: Powering on; 9m30s left\n" +
			"Commissioning for 1m0s: Powering on; 9m0s left\nDeploying; 8m40s left"
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestWaitSaysWhereItStopped: the error has the phase, since when, and the last error.
func TestWaitSaysWhereItStopped(t *testing.T) {
	t.Parallel()
	passing := fmt.Errorf("rack is away: %w", ErrUnavailable)
	cases := map[string]struct {
		reason string
		steps  []func() (Result[string], error)
		want   string
		lasted time.Duration
	}{
		"Waiting": {"A phase lasts.", []func() (Result[string], error){stepSeeing("a", false, 10*time.Second)}, "the time is up while Working for 1m0s: hard at it", time.Minute},
		"Failing": {
			"MAAS went away.", []func() (Result[string], error){stepSeeing("a", false, 10*time.Second), stepFailing(passing)},
			"the time is up; the last error was: rack is away: unavailable", time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				step, _ := script(tc.steps...)
				_, err := WaitUntilDone(ctx, step)
				var stopped *StoppedError
				if !errors.As(err, &stopped) || err.Error() != tc.want || stopped.PhaseDuration() != tc.lasted || stopped.Phase != "Working" {
					t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
				}
				if !errors.Is(err, context.DeadlineExceeded) || (stopped.Last != nil) != errors.Is(err, ErrUnavailable) {
					t.Errorf("%s\nit does not wrap what it tells: %v", tc.reason, err)
				}
			})
		})
	}
}

// TestWaitGivesUp: what was seen last is left well where no step follows, whatever ends Wait.
func TestWaitGivesUp(t *testing.T) {
	cases := map[string]struct {
		reason  string
		then    func() (Result[string], error)
		limit   time.Duration // of ctx
		failing error         // of what leaves it well
		calls   int
	}{
		"Done":     {"Nothing is left to be done.", stepSeeing("b", true, 0), time.Hour, nil, 0},
		"Terminal": {"The step fails for good.", stepFailing(ErrInvalid), time.Hour, nil, 1},
		"Patience": {"The step fails for too long.", stepFailing(ErrUnavailable), time.Hour, nil, 1},
		"Timeout":  {"The caller waits no longer.", stepSeeing("", false, time.Second), time.Minute, nil, 1},
		"Fails":    {"Both failures are told.", stepFailing(ErrInvalid), time.Hour, errors.New("rack is away"), 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
				defer cancel()
				calls := 0
				giveUp := func(ctx context.Context) error {
					calls++
					return errors.Join(ctx.Err(), tc.failing)
				}
				first := true
				_, err := WaitUntilDone(ctx, func(context.Context) (Result[string], error) {
					if first {
						first = false
						return Result[string]{Object: "a", SystemID: "abc123", GiveUp: giveUp}, nil
					}
					res, err := tc.then()
					if !res.Done && err == nil {
						res.GiveUp = giveUp
					}
					return res, err
				})
				if calls != tc.calls || (err == nil) != (name == "Done") || tc.failing != nil && !errors.Is(err, tc.failing) {
					t.Errorf("%s\n%d calls, and %v", tc.reason, calls, err)
				}
				if errors.Is(err, context.Canceled) {
					t.Errorf("%s\nthe ctx of the last act has ended: %v", tc.reason, err)
				}
			})
		})
	}
}
