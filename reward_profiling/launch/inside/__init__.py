"""What runs inside a job, under the interpreter of the environment that submitted it."""
