"""What every stream classifier does with the rows and labels that users give it."""
