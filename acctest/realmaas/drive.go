package realmaas

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Verb is what the command of MAASLXD_ACC_DRIVE is to do with a machine.
type Verb string

// The verbs. The command is called as "COMMAND VERB SYSTEM_ID". It ends with 0 once it
// is done, and MAAS need not show it yet.
const (
	// VerbCommissioned ends commissioning well: the scripts' results are sent, then the
	// signal OK.
	VerbCommissioned Verb = "commissioned"
	// VerbCommissioningFailed ends commissioning with the signal FAILED.
	VerbCommissioningFailed Verb = "commissioning-failed"
	// VerbDeployed ends a deployment well: the machine fetches its user-data.
	VerbDeployed Verb = "deployed"
	// VerbDeploymentFailed ends a deployment with the signal FAILED.
	VerbDeploymentFailed Verb = "deployment-failed"
	// VerbBooted runs what a Deployed machine was given as user-data: afterwards its LXD
	// answers at the machine's address, and trusts the certificates of the user-data.
	VerbBooted Verb = "booted"
	// VerbUserData prints the user-data that the machine was deployed with.
	VerbUserData Verb = "user-data"
	// VerbOff powers a machine off behind MAAS's back.
	VerbOff Verb = "off"
)

// Drive runs the command that plays guests which do not boot. An empty command plays
// none: then the machines boot.
type Drive struct{ Command string }

// HasCommand tells whether there is a command.
func (d Drive) HasCommand() bool { return d.Command != "" }

// commandLine are the command and its arguments. The name of a program may have spaces in it,
// where no arguments follow.
func (d Drive) commandLine() []string {
	if program, err := exec.LookPath(d.Command); err == nil {
		return []string{program}
	}
	return strings.Fields(d.Command)
}

// outputDelay is how long a command that was killed may keep its output open: a child
// of it may hang as well.
const outputDelay = 5 * time.Second

// Run calls the command, and returns what it printed to its standard output.
func (d Drive) Run(ctx context.Context, verb Verb, systemID string) (string, error) {
	words := d.commandLine()
	if len(words) == 0 {
		return "", fmt.Errorf("cannot drive %s to %s: no command is set", systemID, verb)
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], string(verb), systemID)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, outputDelay
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s %s: %w: %s", d.Command, verb, systemID, err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
