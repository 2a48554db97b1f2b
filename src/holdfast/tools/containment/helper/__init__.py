"""The programs that run around and inside contained commands: nothing here imports the rest of Holdfast.

Python runs this folder as a program: `python -I -S helper NAME ARGUMENTS`. It starts within milliseconds
and uses only the standard library.
"""
