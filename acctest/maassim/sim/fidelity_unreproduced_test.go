package sim_test

// unreproduced are the exchanges that the simulator answers in another way,
// and why. One that is listed and reproduced fails the test.
var unreproduced = map[int]string{
	250: "read in the instant between compose's commit and its power action: status_message is still Commissioning",
	447: "MAAS counts each disk of an adopted VM twice in this one answer (80 GB for five VMs with 8 GB)",
}
