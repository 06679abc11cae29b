package realmaas

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Verb tells the command of MAASLXD_ACC_DRIVE what to do with a machine.
type Verb string

// The verbs. The command is called as "COMMAND VERB SYSTEM_ID". It exits with 0
// when it is done, even if MAAS does not show that yet.
const (
	// VerbCommissioned ends a commissioning with success: it sends the scripts'
	// results, then the signal OK.
	VerbCommissioned Verb = "commissioned"
	// VerbCommissioningFailed ends commissioning with the signal FAILED.
	VerbCommissioningFailed Verb = "commissioning-failed"
	// VerbDeployed ends a deployment with success: the machine fetches its
	// user-data.
	VerbDeployed Verb = "deployed"
	// VerbDeploymentFailed ends a deployment with the signal FAILED.
	VerbDeploymentFailed Verb = "deployment-failed"
	// VerbBooted runs the user-data of a Deployed machine. Afterwards its LXD
	// answers at the machine's address, and trusts the certificates in the
	// user-data.
	VerbBooted Verb = "booted"
	// VerbUserData prints the user-data with which the machine was deployed.
	VerbUserData Verb = "user-data"
	// VerbOff powers a machine off without MAAS.
	VerbOff Verb = "off"
)

// Drive runs the command that simulates guests which do not boot. An empty
// command means that the machines boot.
type Drive struct{ Command string }

// HasCommand reports whether there is a command.
func (d Drive) HasCommand() bool { return d.Command != "" }

// commandLine is the command and its arguments. Without arguments the program's
// name may contain spaces.
func (d Drive) commandLine() []string {
	if program, err := exec.LookPath(d.Command); err == nil {
		return []string{program}
	}
	return strings.Fields(d.Command)
}

// outputDelay is how long a killed command may keep its output open. A child of
// it may hang as well.
const outputDelay = 5 * time.Second

// Run calls the command, and returns its standard output.
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
