package sim_test

// unreproduced are the exchanges that the simulator answers in another way,
// and why. One that is listed and reproduced fails the test.
var unreproduced = map[int]string{
	250: "read in the instant between compose's commit and its power action: status_message is still Commissioning",
}
