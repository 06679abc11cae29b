package engine

import "testing"

func TestPhaseOfEachStatus(t *testing.T) {
	want := map[Phase][]Status{
		PhaseCommissioning: {0, 1, 21},
		PhaseReady:         {4},
		PhaseAllocated:     {10},
		PhaseDeploying:     {9},
		PhaseDeployed:      {6},
		PhaseReleasing:     {12, 14},
		PhaseFailed:        {2, 8, 11, 13, 15, 22},
		PhaseOther:         {3, 5, 7, 16, 17, 18, 19, 20, 99},
	}
	for phase, statuses := range want {
		for _, status := range statuses {
			if got := status.Phase(); got != phase {
				t.Errorf("status %d: got %s, want %s", status, got, phase)
			}
		}
	}
}
