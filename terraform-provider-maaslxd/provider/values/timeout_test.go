package values

import "testing"

func TestShortTimeoutProblem(t *testing.T) {
	t.Parallel()
	for duration, want := range map[string]string{
		"0s": `"0s" is too short. Give 1s or more, such as 10m.`, "-5m": `"-5m" is too short. Give 1s or more, such as 10m.`, "1ns": `"1ns" is too short. Give 1s or more, such as 10m.`,
		"1s": "", "2h45m": "", "soon": "",
	} {
		if got := shortTimeoutProblem(duration); got != want {
			t.Errorf("%s: got %q, want %q", duration, got, want)
		}
	}
}
