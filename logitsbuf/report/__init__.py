"""What a run tells: texts for people, scripts for bug reports. Nothing here judges."""
