export const isolation = {
  exclusive: "Whole device",
  exclusive_why: "Nobody else is on this device while you are.",
  mig: "Hardware partition",
  mig_why: "The device itself keeps your memory and compute apart from others.",
  mps: "Driver share",
  mps_why: "The driver limits memory and compute; a fault of one program can reach others on the device.",
  limiter_strict: "Enforced limits",
  limiter_strict_why: "Your programs run in a box whose memory and compute limits cannot be switched off from inside.",
  limiter_advisory: "Advisory limits",
  limiter_advisory_why: "Limits hold for well-behaved programs; a hostile one could get round them.",
  simulated_why: "The device is simulated: no real hardware is behind it.",
} as const;
