package sim

import (
	"encoding/base64"
	"path"
	"slices"
	"strconv"
	"strings"
)

// runScript runs what it knows of a shell script, command by command:
//
//	snap install lxd [--channel=C], snap refresh lxd [--channel=C]
//	lxd init --preseed, from standard input; lxd init --auto [--flag=value]
//	lxc project create NAME
//	lxc storage create NAME DRIVER [key=value]
//	lxc config set KEY VALUE, or KEY=VALUE
//	lxc config trust add [FILE] [--restricted] [--projects A,B]
//	cat, echo, printf, tee, base64 -d, with > FILE, < FILE, << and |
//
// Conditions are not looked at: each branch runs, once, and what comes of a
// command that was known to fail there is only noted. Loops run once, other
// commands do nothing. A certificate whose FILE is not known is looked for in
// all of the script.
func (b *bootedLXD) runScript(text string) {
	var words []string
	var stdin, file string
	redirect := ""
	for _, t := range scanShell(text) {
		switch {
		case !t.op && redirect == ">":
			file, redirect = t.text, ""
		case !t.op && redirect == "<":
			stdin, redirect = b.files[t.text], ""
		case !t.op && redirect != "":
			redirect = "" // a descriptor
		case !t.op:
			words = append(words, t.text)
		case t.text == "<<":
			stdin = t.body
		case t.text == ">" || t.text == ">>":
			redirect = ">"
			words = withoutDescriptor(words)
		case t.text == "<" || t.text == ">&" || t.text == "&>":
			redirect = t.text
			words = withoutDescriptor(words)
		default:
			out := b.runCommand(words, stdin, text)
			if file != "" && file != "/dev/null" {
				b.files[file] = out
			}
			words, stdin, file = nil, "", ""
			if t.text == "|" {
				stdin = out
			}
		}
	}
}

// withoutDescriptor drops the 2 of 2>.
func withoutDescriptor(words []string) []string {
	if n := len(words); n > 0 && (words[n-1] == "1" || words[n-1] == "2") {
		return words[:n-1]
	}
	return words
}

// leaders may stand before a command.
var leaders = []string{"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "time", "exec", "sudo", "command", "nice", "env", "fi", "done", "timeout"}

// runCommand runs one command and gives what it writes. text is where it
// stands in.
func (b *bootedLXD) runCommand(words []string, stdin, text string) string {
	for len(words) > 0 {
		name, _, assigns := strings.Cut(words[0], "=")
		if !slices.Contains(leaders, words[0]) && !(assigns && isName(name)) && !isDuration(words[0]) {
			break
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	flags, args := splitFlags(words[1:])
	var err error
	switch path.Base(words[0]) {
	case "snap":
		err = b.runSnap(args, flags)
	case "lxd":
		err = b.runLXD(args, flags, stdin)
	case "lxc":
		err = b.runLXC(args, flags, stdin, text)
	case "cat":
		return b.cat(args, stdin)
	case "tee":
		for _, name := range args {
			b.files[name] = stdin
		}
		return stdin
	case "echo", "printf":
		return echo(path.Base(words[0]), args)
	case "base64":
		data, bad := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(b.cat(args, stdin)), ""))
		err = bad
		if err == nil {
			return string(data)
		}
	}
	if err != nil {
		b.problem("%v", err)
	}
	return ""
}

// isDuration is what timeout has before the command: "600", "-k", "10m".
func isDuration(word string) bool {
	_, err := strconv.ParseFloat(strings.TrimRight(word, "smhd"), 64)
	return err == nil || strings.HasPrefix(word, "-")
}

// valued are the flags that take the next word, where they have no =.
var valued = []string{"--channel", "--projects", "--name", "--project", "--description", "--network-address", "--network-port",
	"--storage-backend", "--storage-create-device", "--storage-create-loop", "--storage-pool", "--trust-password", "-c", "--config", "--type"}

// splitFlags sorts words into flags and arguments.
func splitFlags(words []string) (flags map[string]string, args []string) {
	flags = map[string]string{}
	for i := 0; i < len(words); i++ {
		name, value, hasValue := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(name, "-") || name == "-":
			args = append(args, words[i])
		case !hasValue && slices.Contains(valued, name) && i+1 < len(words):
			i++
			flags[name] = words[i]
		default:
			flags[name] = value
		}
	}
	return flags, args
}

func (b *bootedLXD) cat(names []string, stdin string) string {
	if len(names) == 0 {
		return stdin
	}
	var out strings.Builder
	for _, name := range names {
		if name == "-" {
			out.WriteString(stdin)
		}
		out.WriteString(b.files[name])
	}
	return out.String()
}

// echo is echo, and printf where the format is %s or nothing but text.
func echo(command string, args []string) string {
	if command == "echo" || len(args) == 0 {
		return strings.Join(args, " ") + "\n"
	}
	format := strings.ReplaceAll(args[0], `\n`, "\n")
	if len(args) == 1 {
		return format
	}
	return strings.Replace(format, "%s", strings.Join(args[1:], "\n"), 1)
}

func (b *bootedLXD) runSnap(args []string, flags map[string]string) error {
	if len(args) < 2 || args[1] != "lxd" {
		return nil
	}
	switch args[0] {
	case "install":
		return b.install(flags["--channel"], false)
	case "refresh":
		return b.install(flags["--channel"], true)
	}
	return nil
}

func (b *bootedLXD) runLXD(args []string, flags map[string]string, stdin string) error {
	_, preseed := flags["--preseed"]
	_, auto := flags["--auto"]
	switch {
	case len(args) == 0 || args[0] != "init":
		return nil
	case preseed:
		return b.preseed(stdin)
	case auto:
		port, _ := strconv.Atoi(flags["--network-port"])        // 0: the default
		loop, _ := strconv.Atoi(flags["--storage-create-loop"]) // 0: the default
		return b.initAuto(lxdInit{NetworkAddress: flags["--network-address"], NetworkPort: port, StorageBackend: flags["--storage-backend"],
			StoragePool: flags["--storage-pool"], CreateDevice: flags["--storage-create-device"], CreateLoopGB: int64(loop), TrustPassword: flags["--trust-password"]})
	}
	return nil
}

func (b *bootedLXD) runLXC(args []string, flags map[string]string, stdin, text string) error {
	b.ensure()
	command := strings.Join(args[:min(2, len(args))], " ")
	rest := args[min(2, len(args)):]
	switch {
	case command == "project create" && len(rest) > 0:
		return b.addProject(rest[0])
	case command == "storage create" && len(rest) > 1:
		config := map[string]string{}
		for _, pair := range rest[2:] {
			key, value, _ := strings.Cut(pair, "=")
			config[key] = value
		}
		return b.addPool(rest[0], rest[1], config)
	case command == "config set" && len(rest) > 0:
		key, value, joined := strings.Cut(rest[0], "=")
		if !joined && len(rest) > 1 {
			value = rest[1]
		}
		return b.configure(key, value)
	case command == "config trust" && len(rest) > 0 && (rest[0] == "add" || rest[0] == "add-certificate"):
		return b.runTrust(rest[1:], flags, stdin, text)
	}
	return nil
}

func (b *bootedLXD) runTrust(files []string, flags map[string]string, stdin, text string) error {
	certificates := certificatesIn(stdin)
	for _, name := range files {
		certificates = append(certificates, certificatesIn(b.files[name])...)
	}
	if len(certificates) == 0 {
		certificates = certificatesIn(text)
	}
	_, restricted := flags["--restricted"]
	return b.addTrust(certificates, restricted, splitTags([]string{flags["--projects"]}))
}
