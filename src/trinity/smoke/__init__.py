"""The ladder of spec section 11: cheap checks that stand before anything costs."""
